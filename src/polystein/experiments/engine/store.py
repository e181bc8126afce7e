"""What a study leaves on disk: a file for each finished cell, a table, and how it came about.

Every file is written under another name first and then renamed, so that a reader
never meets half of one, whatever ends the run.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polystein._lib.arguments import is_finite_number
from polystein._lib.files import write_whole
from polystein._lib.versions import versions
from polystein._version import __version__
from polystein.errors import InputError
from polystein.experiments.engine.cells import Cell, Row, Scalar

TABLE = "replicates.csv"
METADATA = "run.json"
SCHEMA_VERSION = 2


def write_text(path: Path, text: str) -> None:
    """Write a file so that it is complete or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows of equal fields; a float reads back as the same float, None is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def read_csv(path: Path) -> list[Row]:
    """Read what `write_csv` wrote: integers, floats, text, and None where a field is empty."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _scalar(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _scalar(text: str) -> Scalar:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def write_json(path: Path, values: Any) -> None:
    """Write JSON without NaN, floats to be read back exactly."""
    write_text(path, json.dumps(values, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read an object that `write_json` wrote."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return values


@dataclass(frozen=True)
class Finished:
    """The replicates of a cell, each with its rows, the seconds that they took, and whose they are.

    A cell that was continued with more replicates may come from several commits.
    """

    replicates: list[list[Row]]
    seconds: float
    commits: tuple[str, ...]


@dataclass(frozen=True)
class Store:
    """The directory of one study run with one seed.

    `commit` is that of the code that runs: it is asked for at once, as the files may
    change during the hours that a study takes.
    """

    folder: Path
    seed: int
    commit: str = field(default_factory=lambda: package_commit() or "unknown")

    def load(self, cell: Cell) -> Finished | None:
        """Return what is finished of a cell, or None."""
        path = self._path(cell)
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise _damaged(path) from error
        if not isinstance(saved, dict):
            raise _damaged(path)
        wanted = self._identity(cell)
        for name, value in wanted.items():
            if saved.get(name) != value:
                raise InputError(
                    f"`out` must be another directory or hold results with {name} {value!r}; "
                    f"got {saved.get(name)!r} in {path}"
                )
        if not _is_whole(saved):
            raise _damaged(path)
        return Finished(saved["replicates"], saved["seconds"], tuple(saved["commits"]))

    def save(self, cell: Cell, finished: Finished) -> None:
        """Keep a cell."""
        values = {
            **self._identity(cell),
            "commits": finished.commits,
            "seconds": finished.seconds,
            "replicates": finished.replicates,
        }
        write_text(self._path(cell), json.dumps(values, allow_nan=False) + "\n")

    def of_other_code(self, found: Iterable[Finished]) -> str | None:
        """Say how many cells other code had a part in; None if there are none."""
        others = [one.commits for one in found if one.commits != (self.commit,)]
        if not others:
            return None
        cells = "1 cell comes" if len(others) == 1 else f"{len(others)} cells come"
        commits = ", ".join(sorted({one for commits in others for one in commits} - {self.commit}))
        return f"{cells} from commit {commits}, this is {self.commit}"

    def write_table(self, cells: Iterable[Cell], found: dict[Cell, Finished]) -> list[Row]:
        """Write all replicates of all cells as one table, in the order of `cells`."""
        rows: list[Row] = [
            {**dict(cell.settings), "replicate": index, **row}
            for cell in cells
            for index, replicate in enumerate(found[cell].replicates[: cell.replicates])
            for row in replicate
        ]
        write_csv(self.folder / TABLE, rows)
        write_json(self.folder / METADATA, self._metadata(found))
        return rows

    def _metadata(self, found: dict[Cell, Finished]) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "study": next(iter(found)).study,
            "seed": self.seed,
            "cells": len(found),
            "replicates": sorted({cell.replicates for cell in found}),
            "commits": sorted({commit for one in found.values() for commit in one.commits}),
            "of_other_code": self.of_other_code(found.values()),
            "versions": versions(),
            "processor_seconds": round(sum(one.seconds for one in found.values()), 1),
        }

    def _identity(self, cell: Cell) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "key": cell.key,
            "seed": self.seed,
            "polystein_version": __version__,
        }

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / cell.file_name


def _is_whole(saved: dict[str, Any]) -> bool:
    """Whether the content of a cell is what `Store.save` writes."""
    replicates, commits = saved.get("replicates"), saved.get("commits")
    return (
        isinstance(replicates, list)
        and all(isinstance(rows, list) for rows in replicates)
        and all(isinstance(row, dict) for rows in replicates for row in rows)
        and isinstance(commits, list)
        and all(isinstance(commit, str) for commit in commits)
        and is_finite_number(saved.get("seconds"))
    )


def _damaged(path: Path) -> InputError:
    return InputError(
        f"`out` must hold finished cells only; got {path}, which is damaged or something else. "
        "Remove the file, and the cell is run again"
    )


def package_commit() -> str | None:
    """Return the commit of the checkout that this package runs from, None outside of one.

    If files were changed since, a digest of all modules is added.
    """
    package = Path(__file__).resolve().parents[2]
    top = _git(package, "rev-parse", "--show-toplevel")
    if top is None or Path(top) != package.parents[1]:
        return None
    changed = _git(package, "status", "--porcelain", "--", str(package))
    return f"{_git(package, 'rev-parse', 'HEAD')}{f'+{_digest(package)}' if changed else ''}"


def _digest(package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return f"changes-{digest.hexdigest()[:8]}"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
