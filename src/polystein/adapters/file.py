"""Files of any known kind to a `Sample`; the command line reads with this."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from polystein._lib.arguments import path_of
from polystein.adapters.arviz import from_arviz
from polystein.adapters.cmdstan import from_cmdstan, is_stan_csv
from polystein.adapters.tables import (
    READERS,
    load_sample,
    load_scores,
    load_table,
    refuse_own_scores,
)
from polystein.data.sample import Sample
from polystein.errors import InputError
from polystein.types import Array, ScoreFunction

#: How the names of ArviZ's files end.
ARVIZ = (".nc", ".nc4", ".netcdf", ".cdf", ".h5", ".hdf5", ".zarr")
StrPath = str | os.PathLike[str]


def from_file(
    path: StrPath,
    scores: StrPath | Array | ScoreFunction | None = None,
    *,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
) -> Sample:
    """Read draws and scores from files, as a `Sample`.

    Parameters
    ----------
    path : str or path
        A .npz with the keys ``draws`` and ``scores`` (and perhaps ``names`` and ``log_weights``);
        a .npy, .csv or .parquet with draws; a netCDF file or Zarr store of ArviZ; or a diagnostic
        CSV file of CmdStan. Pickles are never read.
    scores : str, path, array or callable, optional
        A further file with the scores, the scores themselves, or a function of (n, d) draws. For
        ArviZ's files also ``"group/variable"``; without it, stored gradients are found.
    var_names, thin, drop_first
        As for `Sample.select`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import polystein as ps
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.npz"
    ...     np.savez(path, draws=draws, scores=-draws, names=["mu", "log_tau"])
    ...     sample = ps.from_file(path, thin=5)
    >>> sample, sample.names
    (Sample(4 chains of 100 draws, d=2), ('mu', 'log_tau'))
    """
    place = path_of(path, "path")
    if place.suffix.lower() in ARVIZ:
        return from_arviz(
            place,
            _of_arviz(scores, place),
            var_names=var_names,
            thin=thin,
            drop_first=drop_first,
        )
    if place.suffix.lower() == ".csv" and place.is_file() and is_stan_csv(place):
        _refuse_scores(scores, place)
        return from_cmdstan(place, var_names=var_names, thin=thin, drop_first=drop_first)
    sample = _of_tables(place, scores)
    if var_names is None and thin == 1 and drop_first == 0:
        return sample
    return sample.select(var_names=var_names, thin=thin, drop_first=drop_first)


def _of_arviz(
    scores: StrPath | Array | ScoreFunction | None, place: Path
) -> str | Array | ScoreFunction | None:
    """Scores of draws in ArviZ's files: a file of their own, or as they are."""
    if not isinstance(scores, str | os.PathLike):
        return scores
    file = path_of(scores, "scores")
    if file.is_file():
        return load_scores(file).values
    if file.suffix.lower() in READERS:
        raise InputError(f"`scores` must be a file that exists; got {file}")
    return os.fspath(scores)


def _of_tables(place: Path, scores: StrPath | Array | ScoreFunction | None) -> Sample:
    if scores is None or isinstance(scores, str | os.PathLike):
        return load_sample(place, None if scores is None else path_of(scores, "scores"))
    table = load_table(place, "draws")
    refuse_own_scores(table, place)
    return Sample(table.values, scores, names=table.names, log_weights=table.log_weights)


def _refuse_scores(scores: object, place: Path) -> None:
    if scores is not None:
        raise InputError(
            f"`scores` must not be given with CmdStan's files, which hold gradients; got {place} "
            "and further scores"
        )
