"""Files of all kinds through one reader, and those that it refuses."""

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import polystein as ps
from polystein.adapters.file import load_table
from polystein.errors import InputError
from tests.bombs import Bomb, exploded
from tests.cli.files import SAVERS, Run, save_csv, save_pair


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("suffix", SAVERS)
def test_every_file_type_gives_the_same_result(run: Run, good: np.ndarray, suffix: str) -> None:
    expected = ps.lambda_psd_test(good, -good, order=4, rng=3)
    done = run("test", *save_pair(suffix, good), "--seed", "3", "--json")
    # np.savetxt writes 18 digits after the point: nothing is lost.
    assert json.loads(done.out)["statistic"] == pytest.approx(expected.statistic, rel=1e-12)


def test_npz_holds_draws_and_scores(run: Run, bad: np.ndarray) -> None:
    np.savez("both.npz", draws=bad, scores=-bad)
    assert run("test", "both.npz").code == 1


def test_a_single_array_is_no_archive(run: Run, bad: np.ndarray) -> None:
    """A renamed .npy would be taken for draws and scores at once."""
    with Path("draws.npz").open("wb") as stream:
        np.save(stream, bad)
    done = run("check", "draws.npz")
    assert done.code == 2
    assert "which holds a single array. Name it .npy." in " ".join(done.err.split())


def test_npz_may_hold_log_weights(run: Run) -> None:
    """Draws that are too wide, with the weights that put them right, and without."""
    rng = np.random.default_rng(0)
    draws = 1.5 * rng.standard_normal((2000, 2))
    log_weights = -0.5 * np.sum(draws**2 * (1.0 - 1.5**-2), axis=1)
    np.savez("weighted.npz", draws=draws, scores=-draws, log_weights=log_weights)
    np.savez("plain.npz", draws=draws, scores=-draws)
    assert run("check", "weighted.npz", "--iid").code == 0
    assert run("check", "plain.npz", "--iid").code == 1


def test_npz_may_hold_names(run: Run, bad: np.ndarray) -> None:
    np.savez("named.npz", draws=bad, scores=-bad, names=["mu", "tau", "z"])
    assert load_table(Path("named.npz"), "draws").names == ("mu", "tau", "z")
    np.savez("wrong.npz", draws=bad, scores=-bad, names=[1, 2, 3])
    assert "key names of wrong.npz must be a list of strings" in run("test", "wrong.npz").err


def test_npz_with_a_key_that_means_nothing_is_refused(run: Run, good: np.ndarray) -> None:
    np.savez("odd.npz", draws=good, scores=-good, weights=np.ones(len(good)))
    done = run("test", "odd.npz")
    assert done.code == 2
    assert (
        "only log_weights and names may be missing; got ['draws', 'scores', 'weights']" in done.err
    )


def test_a_file_of_each_type_may_be_mixed(run: Run, bad: np.ndarray) -> None:
    np.savez("draws.npz", draws=bad)
    save_csv(Path("scores.csv"), -bad, header="a,b,c")
    assert run("test", "draws.npz", "scores.csv").code == 1


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_without_pyarrow_the_extra_is_named(
    run: Run, good: np.ndarray, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    pair = save_pair(suffix, good)
    monkeypatch.delitem(sys.modules, f"pyarrow{suffix}")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("test", *pair)
    assert done.code == 2
    assert "needs pyarrow: pip install 'polystein[cli]'" in done.err


def test_columns_in_another_order_are_not_paired(run: Run, good: np.ndarray) -> None:
    save_csv(Path("draws.csv"), good, header="a,b,c")
    save_csv(Path("scores.csv"), -good, header="a,c,b")
    done = run("test", "draws.csv", "scores.csv")
    assert done.code == 2
    assert "in the order of `draws`, a, b, c; got a, c, b" in done.err


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, None], "b": [1.0, 2.0]}, "has 1 missing values in column 'a'"),
        ({"a": [1.0, 2.0], "b": ["u", "v"]}, "the type string in column 'b'"),
        ({"a": [1.0, 2.0], "__index_level_0__": [0, 1]}, "no row index among its columns"),
        ({"a": [1.0, 2.0], "__index_level_0__": ["u", "v"]}, "no row index among its columns"),
        (
            {"a": [1.0, float("nan")], "b": [1.0, 2.0]},
            "`draws` must be finite; got 1 non-finite value",
        ),
        ({}, "at least one column"),
    ],
)
def test_parquet_errors_name_the_column(
    run: Run, columns: dict[str, list[object]], message: str
) -> None:
    pyarrow.parquet.write_table(pa.table(columns), "draws.parquet")
    np.save("scores.npy", np.zeros((2, 2)))
    done = run("test", "draws.parquet", "scores.npy")
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_broken_files(run: Run, good: np.ndarray, suffix: str) -> None:
    path = Path(f"draws{suffix}")
    if suffix == ".npz":
        np.savez(path, draws=good, scores=-good)
    else:
        SAVERS[suffix](path, good)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    np.save("scores.npy", -good)
    done = run("test", path, "scores.npy")
    assert done.code == 2
    assert "`draws` must be" in done.err


@pytest.mark.parametrize("name", ["bomb.pkl", "bomb.PICKLE", "bomb.pt", "bomb.joblib"])
def test_pickles_are_refused_by_name(run: Run, name: str) -> None:
    Path(name).write_bytes(pickle.dumps(Bomb()))
    done = run("test", name)
    assert done.code == 2
    assert "must not be a pickle" in done.err
    assert not exploded()


@pytest.mark.parametrize("kind", ["renamed.npy", "renamed.npz", "object.npy", "object.npz"])
def test_pickles_in_disguise_are_refused(run: Run, kind: str) -> None:
    objects = np.array([Bomb()], dtype=object)
    if kind.startswith("renamed"):
        Path(kind).write_bytes(pickle.dumps(Bomb()))
    elif kind.endswith("npy"):
        np.save(kind, objects, allow_pickle=True)
    else:
        np.savez(kind, draws=objects, scores=objects)
    done = run("test", kind, kind)
    assert done.code == 2
    assert "without pickled objects" in done.err
    assert not exploded()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.npy", "missing.npy"], "must be a file that exists; got missing.npy"),
        (["draws.txt"], "must be a file of type .npy, .npz, .csv, .parquet; got draws.txt"),
        (["draws.npy"], "`scores` are missing: give a second file"),
        (["half.npz"], "`scores` must be a key of half.npz; got the keys ['draws']"),
        (["folder.npy", "draws.npy"], "must be a file that exists; got folder.npy"),
        (["draws.npy", "short.npy"], "the shape of `draws`, (400, 3); got (399, 3)"),
        (["line.npy", "line.npy"], "For one scalar parameter pass `draws[:, None]`"),
    ],
)
def test_what_cannot_be_read_is_named(
    run: Run, good: np.ndarray, arguments: list[str], message: str
) -> None:
    Path("folder.npy").mkdir()
    np.save("draws.npy", good)
    np.save("short.npy", good[1:])
    np.save("line.npy", good[:, 0])
    np.savez("half.npz", draws=good)
    done = run("test", *arguments)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


# From Python


@pytest.mark.parametrize("suffix", SAVERS)
def test_two_files_or_one_and_a_function(tmp_path: Path, suffix: str) -> None:
    draws = np.random.default_rng(0).standard_normal((100, 2))
    SAVERS[suffix](tmp_path / f"draws{suffix}", draws)
    SAVERS[suffix](tmp_path / f"scores{suffix}", -draws)
    for scores in (tmp_path / f"scores{suffix}", lambda x: -x, -draws):
        sample = ps.from_file(tmp_path / f"draws{suffix}", scores, drop_first=10)
        np.testing.assert_allclose(sample.scores, -draws[10:], rtol=1e-12)


def test_names_of_an_archive_choose_parameters(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).standard_normal((3, 50, 3))
    path = tmp_path / "run.npz"
    np.savez(path, draws=draws, scores=-draws, names=["mu", "theta[0]", "theta[1]"])
    sample = ps.from_file(str(path), var_names="theta", thin=2)
    assert np.array_equal(sample.draws, draws[:, ::2, 1:])


def test_without_xarray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    (tmp_path / "posterior.nc").write_bytes(b"")
    with pytest.raises(ps.MissingExtraError, match=r"needs xarray: pip install 'polystein\[arviz"):
        ps.from_file(tmp_path / "posterior.nc")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ps.InputError, match=r"must be a file that exists; got .*nc"):
        ps.from_file(tmp_path / "posterior.nc")
    with pytest.raises(ps.InputError, match=r"`scores` must be a file that exists; got .*npy"):
        ps.from_file(tmp_path / "posterior.nc", tmp_path / "scores.npy")


@pytest.mark.parametrize("extra", ["draws", "log_weights"])
def test_a_second_file_with_more_than_scores_is_refused(extra: str, tmp_path: Path) -> None:
    """The scores of another complete run belong to the draws of that run."""
    draws = np.random.default_rng(0).standard_normal((400, 2))
    run, other = tmp_path / "run.npz", tmp_path / "good.npz"
    np.savez(run, draws=draws, scores=-draws)
    np.savez(other, scores=draws, **{extra: draws[:, 0] if extra == "log_weights" else draws})
    np.save(tmp_path / "draws.npy", draws)
    for path in (run, tmp_path / "draws.npy"):
        match = rf"file of scores alone; got .*good\.npz, which holds {extra} of its own"
        with pytest.raises(ps.InputError, match=match):
            ps.from_file(path, other)


@pytest.mark.parametrize("suffix", SAVERS)
def test_the_draws_themselves_are_no_scores(suffix: str, good: np.ndarray) -> None:
    for name in ("draws", "copy"):
        SAVERS[suffix](Path(f"{name}{suffix}"), good)
    for second in ("draws", "copy"):
        with pytest.raises(InputError, match=r"`scores` must be gradients .* got the draws them"):
            ps.from_file(f"draws{suffix}", f"{second}{suffix}")


def test_output_of_stan_is_no_file_of_scores(good: np.ndarray) -> None:
    """Another run's table of draws, as CmdStanPy's `draws_pd` and pandas write it."""
    save_csv(Path("draws.csv"), good, header="lp__,a,b")
    save_csv(Path("other.csv"), good + 1.0, header="lp__,a,b")
    with pytest.raises(InputError, match=r"scores alone; got other\.csv, which holds lp__ of its"):
        ps.from_file("draws.csv", "other.csv")


def test_a_line_break_in_the_name_of_a_file_is_written_out(run: Run) -> None:
    """What follows it would pass for a message of its own."""
    name = "a\npolystein: not rejected.csv"
    for missing in (True, False):
        if not missing:
            Path(name).write_text("a,b\n1,x\n", encoding="utf-8")
        done = run("check", name, name)
        assert done.code == 2
        assert done.err.count("\n") == 1
        assert r"a\npolystein: not rejected.csv" in done.err


def test_a_second_file_with_scores_and_names_is_read(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).standard_normal((400, 2))
    np.savez(tmp_path / "run.npz", draws=draws)
    np.savez(tmp_path / "scores.npz", scores=-draws, names=["a", "b"])
    found = ps.from_file(tmp_path / "run.npz", tmp_path / "scores.npz")
    assert np.array_equal(found.scores, -draws)
    assert found.names == ("a", "b")
