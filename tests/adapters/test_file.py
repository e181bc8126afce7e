"""Files of all kinds through one reader."""

import sys
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from tests.cli.files import SAVERS


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


def test_a_second_file_with_scores_and_names_is_read(tmp_path: Path) -> None:
    draws = np.random.default_rng(0).standard_normal((400, 2))
    np.savez(tmp_path / "run.npz", draws=draws)
    np.savez(tmp_path / "scores.npz", scores=-draws, names=["a", "b"])
    found = ps.from_file(tmp_path / "run.npz", tmp_path / "scores.npz")
    assert np.array_equal(found.scores, -draws)
    assert found.names == ("a", "b")
