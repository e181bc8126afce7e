"""Names that others chose: what steers a terminal or turns the writing goes no further."""

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import polystein as ps
from polystein.data.source import Block, Layout, coordinate_names
from polystein.report.result_page import result_page

#: Colours, the bell, a title of the window, writing from right to left, and half a character.
NASTY = ("a\x1b[31m\x07", "b\x1b]0;title\x07", "c\u202ed\u2066", "d\udc80\x9b", "e\nf\u2028")
SHOWN = (
    r"a\x1b[31m\x07",
    r"b\x1b]0;title\x07",
    r"c\u202ed\u2066",
    r"d\udc80\x9b",
    r"e\nf\u2028",
)
DRAWS = np.random.default_rng(0).standard_normal((4, 400, 5))


def steers(text: str) -> bool:
    """Whether a text has characters that are not printed, beside line breaks of its own."""
    return not text.replace("\n", "").isprintable()


@pytest.fixture(scope="module")
def result() -> ps.GofResult:
    return ps.check(ps.Sample(1.5 * DRAWS, -1.5 * DRAWS, names=NASTY), rng=0)


def test_no_text_about_a_result_steers_the_terminal(result: ps.GofResult) -> None:
    texts = [str(result), repr(result), result_page(result), str(result.effects), *result.warnings]
    assert all(SHOWN[place] in result_page(result) for place in (0, 1, 2, 3))
    assert [text for text in texts if steers(text)] == []
    result_page(result).encode()


def test_results_of_strangers_do_not_either(result: ps.GofResult) -> None:
    text = json.dumps(result.to_dict())
    for shown, nasty in zip(SHOWN, NASTY, strict=True):
        text = text.replace(json.dumps(shown)[1:-1], json.dumps(nasty)[1:-1])
    values = json.loads(text)
    values["warnings"] = ["\x1b[2J"]
    assert any(steers(row["name"]) for row in values["effects"]["rows"])
    read = ps.GofResult.from_dict(values)
    assert read.warnings == (r"\x1b[2J",)
    assert not steers(str(read) + result_page(read))
    assert ps.GofResult.from_dict(result.to_dict()).to_dict() == result.to_dict()


class OwnSource:
    """A source that somebody wrote for themselves."""

    layout = Layout((400,), 5, time_ordered=True)
    names = NASTY

    def read(self, chain: int, start: int, stop: int) -> Block:
        rows = DRAWS[0, start:stop]
        return Block(rows, -rows, None, chain, start)


def test_names_are_escaped_wherever_they_come_in(tmp_path: Path) -> None:
    path = tmp_path / "draws.parquet"
    # Parquet has text in UTF-8, which half a character is not.
    names = [name.replace("\udc80", "") for name in NASTY]
    shown = tuple(name.replace(r"\udc80", "") for name in SHOWN)
    table = pa.table({name: DRAWS[0, :, place] for place, name in enumerate(names)})
    pyarrow.parquet.write_table(table, path)
    assert ps.from_store(path, lambda x: -x).names == shown
    assert ps.from_file(path, lambda x: -x).names == shown
    assert ps.from_store(DRAWS, -DRAWS, names=NASTY).names == SHOWN
    effects = ps.effects(OwnSource())  # type: ignore[arg-type]
    assert {row.name for row in effects.rows} >= set(SHOWN[:1])
    assert not steers(str(effects))


def test_coordinates_are_found_by_the_names_that_were_given() -> None:
    sample = ps.Sample(DRAWS, -DRAWS, names=NASTY)
    assert coordinate_names(sample) == SHOWN
    assert sample.select(var_names=[NASTY[0], NASTY[4]]).names == (SHOWN[0], SHOWN[4])
    assert sample.select(var_names=SHOWN[2]).names == (SHOWN[2],)
    found = ps.expectations(sample, {"f\x1b": lambda x: x[:, 0]}, names=[NASTY[1]])
    assert not steers(str(found))


def test_names_that_look_alike_once_escaped_are_refused() -> None:
    with pytest.raises(ps.InputError, match="2 different strings"):
        ps.Sample(DRAWS[..., :2], -DRAWS[..., :2], names=["a\x1b", r"a\x1b"])


def test_messages_write_out_what_others_called_their_files() -> None:
    with pytest.raises(ps.InputError) as caught:
        ps.from_file("\x1b]0;title\x07.npz")
    assert r"got \x1b]0;title\x07.npz" in str(caught.value)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (type(copied), str(copied)) == (ps.InputError, str(caught.value))
    assert str(ps.PolysteinWarning("a\x1b\nb")) == "a\\x1b\nb"


def test_messages_about_input_are_one_line() -> None:
    assert str(ps.InputError("got a\nb.csv")) == r"got a\nb.csv"
    assert str(ps.InputError(f"got {np.eye(2)!r}")) == "got array([[1., 0.], [0., 1.]])"


def test_names_of_spaces_are_shown_in_quotes() -> None:
    sample = ps.Sample(DRAWS[..., :2], -DRAWS[..., :2], names=["", " "])
    assert sample.names == ("''", "' '")
    assert sample.select(var_names=[""]).names == ("''",)
