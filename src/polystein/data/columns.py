"""Some of the coordinates of any source, chosen by their names and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polystein.data.sample import Sample
from polystein.data.selection import Selection, facts_of_columns
from polystein.data.source import Block, Layout, Source, SourceOfAnother, coordinate_names
from polystein.errors import InputError


def with_coordinates(
    source: Source,
    var_names: str | Sequence[str] | None,
    coords: Mapping[str, Any] | None,
) -> Source:
    """The source with the coordinates that are asked for; itself if all are."""
    if var_names is None and coords is None:
        return source
    selection = Selection(var_names, coords=coords)
    if selection.keeps_coordinates:
        return source
    if type(source) is Sample:
        return source.select(var_names=var_names, coords=coords)
    if source.executor is not None:
        raise InputError(
            "`var_names` must not be given with rows that other processes hold; got a "
            f"{type(source).__name__}. Choose columns of the array: `draws[..., [0, 2]]`."
        )
    columns = selection.columns(coordinate_names(source), source.facts.labels)
    return ChosenColumns(source, columns)


class ChosenColumns(SourceOfAnother):
    """Some of the coordinates of another source, whose rows are read where they are."""

    validated = True

    def __init__(self, source: Source, columns: Sequence[int]) -> None:
        layout = source.layout
        super().__init__(source, Layout(layout.lengths, len(columns), layout.time_ordered))
        names = coordinate_names(source)
        self.names = tuple(names[column] for column in columns)
        self.facts = facts_of_columns(source.facts, columns)
        self._columns = list(columns)

    def read(self, chain: int, start: int, stop: int) -> Block:
        """Rows ``start:stop`` of a chain, of the chosen coordinates."""
        block = self.source.read(chain, start, stop)
        columns = self._columns
        return block._replace(draws=block.draws[:, columns], scores=block.scores[:, columns])
