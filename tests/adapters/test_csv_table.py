"""CSV files as others write them, and damaged ones."""

import io
from pathlib import Path

import numpy as np
import pytest

from polystein.adapters.file import load_table
from polystein.errors import InputError
from tests.cli.files import Run, save_csv


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("start", ["a,b,c\n", '"a","b","c"\r\n', "\ufeffa,b,c\n", ""])
def test_csv_with_and_without_names(run: Run, bad: np.ndarray, start: str) -> None:
    np.save("scores.npy", -bad)
    body = io.StringIO()
    np.savetxt(body, bad, delimiter=",")
    Path("draws.csv").write_text(start + body.getvalue() + "\n\n", encoding="utf-8")
    assert run("test", "draws.csv", "scores.npy").code == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3\n", "line 2 of draws.csv: expected 2 numbers, as on line 1; got 1"),
        ("a,b\n1,2\n3,4,5\n", "line 3 of draws.csv: expected 2 numbers, as on line 1; got 3"),
        ("a,b\n1,2\n3,x\n", "line 3 of draws.csv, column 2: expected a number; got 'x'"),
        ("a,b\n1,2\n3,\n", "line 3 of draws.csv, column 2: expected a number; got ''"),
        ("1,2\n\n3,4\n", "line 2 of draws.csv: expected numbers; got nothing"),
        ("1\n\n3\n", "line 2 of draws.csv: expected numbers; got nothing"),
        ("\n1\n2\n", "line 1 of draws.csv: expected numbers; got nothing"),
        ("a,b\n1,2\n \n3,4\n", "line 3 of draws.csv: expected numbers; got nothing"),
        ("1,2\n,\n", "line 2 of draws.csv, column 1: expected a number; got ''"),
        ("1,2\n3,NA\n", "line 2 of draws.csv, column 2: expected a number; got 'NA'"),
        ("1,2\n3,1_000\n", "must be numbers separated by commas; got draws.csv: "),
        ("1,2\n3,-inf\n", "`draws` must be finite; got 1 non-finite value"),
        ("a,b\n1,2\n3,nan\n", "`draws` must be finite; got 1 non-finite value"),
        (",a,b\n0,1,2\n1,3,4\n", "column 1 unnamed. Is it a row number?"),
        ("0,1\n1.5,2.5\n", "column numbers or a draw?"),
        ("a,b,c\n1,2\n3,4\n", "a name for each of 2 columns; got 3 names in draws.csv"),
        ("a\n1,2\n3,4\n", "a name for each of 2 columns; got 1 names in draws.csv"),
        ("1,2\n3;4\n", "line 2 of draws.csv: expected 2 numbers, as on line 1; got 1"),
        ("a;b\n1,5;2\n", "line 2 of draws.csv, column 1: expected a number; got '1,5'"),
        ("# stan_version_major = 2\nlp__,x\n1,2\n", "with CmdStan's files, which"),
        ("a,b\n", "at least one line of numbers"),
        ("a,b\n\n \n", "at least one line of numbers"),
        ("1.2.3,4\n5,6\n", "line 1 of draws.csv: expected a number in every column, or a name"),
        ("1,2,3.x\n4,5,6\n", "looks like none; got '3.x' in column 3"),
        ("1.2.3\n4\n5\n", "looks like none; got '1.2.3' in column 1"),
        ("a,1e\n4,5\n", "looks like none; got '1e' in column 2"),
        ("a,1\n4,5\n", "looks like none; got 'a' in column 1"),
        ("1" * 200_000, "field larger than field limit"),
        ("", "at least one line of numbers"),
    ],
)
def test_csv_errors_say_where(run: Run, text: str, message: str) -> None:
    Path("draws.csv").write_text(text, encoding="utf-8")
    np.save("scores.npy", np.zeros((2, 2)))
    done = run("test", "draws.csv", "scores.npy")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_csv_that_is_not_utf_8(run: Run, good: np.ndarray) -> None:
    np.save("scores.npy", -good)
    Path("draws.csv").write_bytes(b"\xff\xfe1,2\n")
    assert "must be UTF-8 text" in run("test", "draws.csv", "scores.npy").err


def test_csv_that_is_not_utf_8_further_down() -> None:
    Path("draws.csv").write_bytes(b"1,2\n3,\xff\n")
    with pytest.raises(InputError, match="must be UTF-8 text"):
        load_table(Path("draws.csv"), "draws")


@pytest.mark.parametrize(
    "text",
    [
        "a,b\r1,2.5\r3,4\r",
        'a,b\n"1","2.5"\n"3","4"\n',
        "a,b\n 1 ,\t2.5\n+3,.4e1\n",
        "\ufeffa,b\n1,2.5\n3,4",
        "a;b\n1;2.5\n3;4\n",
        "a\tb\n1\t2.5\n3\t4\n",
        '"a";"b"\n1;2.5\n3;4\n',
    ],
)
def test_csv_may_be_written_in_many_ways(text: str) -> None:
    Path("draws.csv").write_bytes(text.encode())
    values, names = load_table(Path("draws.csv"), "draws")[:2]
    assert values.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert names == ("a", "b")


def test_csv_numbers_are_read_to_the_last_digit(good: np.ndarray) -> None:
    draws = np.concatenate([good, good * 1e-300, good * 1e300, [[np.nan, np.inf, -np.inf]]])
    save_csv(Path("draws.csv"), draws)
    np.testing.assert_array_equal(load_table(Path("draws.csv"), "draws").values, draws)


@pytest.mark.parametrize("lost", [1, 2, 7, 20])
@pytest.mark.parametrize("columns", [1, 3])
def test_a_csv_file_that_ends_in_the_middle_of_a_number_is_refused(
    good: np.ndarray, lost: int, columns: int
) -> None:
    path = Path("draws.csv")
    save_csv(path, good[:, :columns])
    whole = path.read_bytes().rstrip()
    path.write_bytes(whole)
    np.testing.assert_array_equal(load_table(path, "draws").values, good[:, :columns])
    path.write_bytes(whole[:-lost])
    ended = "expected a number; got .*e[+-]'" if lost == 2 else "a complete file; .* which ends in"
    with pytest.raises(InputError, match=ended):
        load_table(path, "draws")


def test_short_numbers_at_the_end_of_a_csv_file_are_read() -> None:
    """Complete files without a final line break, whose last number is short as others are."""
    for cells in (["0.125", "2", "3.5", "1.25", "0.5", "10", "7"], ["1e-5"] * 9, ["0.5", "7"]):
        Path("draws.csv").write_text("\n".join(["mu", *cells]), encoding="utf-8")
        found = load_table(Path("draws.csv"), "draws").values
        assert found.ravel().tolist() == [float(cell) for cell in cells]
    # A final line break says that nothing is missing.
    Path("draws.csv").write_text("0.12345\n" * 9 + "7\n", encoding="utf-8")
    assert load_table(Path("draws.csv"), "draws").values[-1] == 7.0


def test_exponents_of_one_digit_may_be_complete() -> None:
    """Some programs write 1e-7 and some 1e-07: only what others write in two digits was cut."""
    cells = ["0.12345678", "0.34567812"] * 5
    for last in ("1.2345e-7", "1.2345e-07"):
        Path("draws.csv").write_text("\n".join(["mu", *cells, last]), encoding="utf-8")
        assert load_table(Path("draws.csv"), "draws").values[-1] == 1.2345e-7
    for above, last in ((cells, "1.2345e-0"), ([*cells, "1.2345e-12"], "1.2345e-1")):
        Path("draws.csv").write_text("\n".join(["mu", *above, last]), encoding="utf-8")
        with pytest.raises(InputError, match="must be a complete file"):
            load_table(Path("draws.csv"), "draws")


def test_column_numbers_are_no_draw() -> None:
    for first in ("0,1,2", "1,2,3"):
        Path("draws.csv").write_text(f"{first}\n0.5,0.25,0.75\n", encoding="utf-8")
        with pytest.raises(InputError, match="column numbers or a draw"):
            load_table(Path("draws.csv"), "draws")
    Path("draws.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    assert load_table(Path("draws.csv"), "draws").values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_names_of_parameters_may_begin_with_digits() -> None:
    Path("draws.csv").write_text("2nd,e1,mu.1\n1,2,3\n", encoding="utf-8")
    assert load_table(Path("draws.csv"), "draws").names == ("2nd", "e1", "mu.1")


def test_csv_names_may_hold_commas() -> None:
    Path("draws.csv").write_text('"L[1,1]","L[2,1]"\n1,2\n', encoding="utf-8")
    assert load_table(Path("draws.csv"), "draws").names == ("L[1,1]", "L[2,1]")


def test_csv_lines_may_be_longer_than_a_block() -> None:
    """PyArrow parses a megabyte at a time unless it is told otherwise."""
    wide = np.full((2, 2000), 0.5)
    cell = "0.5".ljust(1500, "0")
    Path("draws.csv").write_text(f"{','.join([cell] * 2000)}\n" * 2, encoding="utf-8")
    np.testing.assert_array_equal(load_table(Path("draws.csv"), "draws").values, wide)
