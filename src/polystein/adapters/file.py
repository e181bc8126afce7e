"""Files of any known kind to a `Sample`; the command line reads with this.

Tables of numbers are .npy, .npz, .csv and .parquet files. A pickle is never read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polystein._lib.arguments import path_of
from polystein._lib.files import fault_of_numpy_file
from polystein.adapters.arviz import from_arviz
from polystein.adapters.cmdstan import from_cmdstan, is_stan_csv
from polystein.adapters.csv_table import read_csv
from polystein.data.guard.pairing import require_same_names
from polystein.data.parquet import ParquetFile
from polystein.data.sample import Sample
from polystein.errors import InputError, PolysteinError
from polystein.types import Array, ScoreFunction

StrPath = str | os.PathLike[str]
#: How the names of ArviZ's files end.
ARVIZ = (".nc", ".nc4", ".netcdf", ".cdf", ".h5", ".hdf5", ".zarr")
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib", ".dill")
#: Keys of an .npz file with a value for each row, and all keys: any other would go unused.
_ROWS = ("draws", "scores", "log_weights")
_KEYS = {*_ROWS, "names"}
#: Columns that Stan's programs write beside the parameters, which have no scores.
_OF_STAN = {"lp__", "accept_stat__", "divergent__", "energy__", "chain__", "iter__", "draw__"}


class Table(NamedTuple):
    """Numbers, and the columns' names and importance weights if the file has them."""

    values: Array
    names: tuple[str, ...] | None = None
    log_weights: Array | None = None
    #: Other arrays of rows in the same file.
    beside: tuple[str, ...] = ()


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
    suffix = place.suffix.lower()
    if suffix in ARVIZ:
        return from_arviz(
            place,
            _scores_of_arviz(scores),
            var_names=var_names,
            thin=thin,
            drop_first=drop_first,
        )
    if suffix == ".csv" and place.is_file() and is_stan_csv(place):
        if scores is not None:
            raise InputError(
                "`scores` must not be given with CmdStan's files, which hold gradients; got "
                f"{place} and further scores"
            )
        return from_cmdstan(place, var_names=var_names, thin=thin, drop_first=drop_first)
    if scores is None or isinstance(scores, str | os.PathLike):
        sample = _of_tables(place, None if scores is None else path_of(scores, "scores"))
    else:
        table = load_table(place, "draws")
        _refuse_own_scores(table, place)
        sample = Sample(table.values, scores, names=table.names, log_weights=table.log_weights)
    if not (var_names is None and thin == 1 and drop_first == 0):
        sample = sample.select(var_names=var_names, thin=thin, drop_first=drop_first)
    if isinstance(scores, str | os.PathLike) and np.array_equal(sample.draws, sample.scores):
        raise InputError(
            "`scores` must be gradients of the log-density at the draws; got the draws themselves: "
            f"{scores} holds the same numbers as {place}"
        )
    return sample


def _scores_of_arviz(
    scores: StrPath | Array | ScoreFunction | None,
) -> str | Array | ScoreFunction | None:
    """Scores of draws in ArviZ's files: a file of their own, or as they are."""
    if not isinstance(scores, str | os.PathLike):
        return scores
    file = path_of(scores, "scores")
    if file.is_file():
        return _load_scores(file).values
    if file.suffix.lower() in READERS:
        raise InputError(f"`scores` must be a file that exists; got {file}")
    return os.fspath(scores)


def _of_tables(draws: Path, scores: Path | None) -> Sample:
    """Read draws and scores, each from its own file or both from one .npz."""
    if scores is None and draws.suffix.lower() in set(READERS) - {".npz"}:
        raise InputError(
            "`scores` are missing: give a second file, or one .npz with the keys 'draws' and "
            f"'scores'; got {draws} alone"
        )
    left = load_table(draws, "draws")
    right = load_table(draws, "scores") if scores is None else _load_scores(scores)
    if scores is not None:
        _refuse_own_scores(left, draws)
    if left.names and right.names:
        require_same_names(left.names, right.names)
    names = left.names or right.names
    return Sample(left.values, right.values, names=names, log_weights=left.log_weights)


def _refuse_own_scores(table: Table, path: Path) -> None:
    """Draws whose scores come from elsewhere must have none in their own file."""
    if "scores" in table.beside:
        raise InputError(
            f"`scores` must come from one place; got {path}, which holds scores of its own, and "
            "further scores. Pass it as the only file, or save its draws in a file of their own."
        )


def _load_scores(path: Path) -> Table:
    """Read scores from a file of their own, which belong to the draws of another file."""
    table = load_table(path, "scores")
    beside = table.beside or tuple(name for name in table.names or () if name in _OF_STAN)
    if beside:
        raise InputError(
            f"`scores` must be a file of scores alone; got {path}, which holds "
            f"{' and '.join(beside)} of its own. Pass a complete run as the only file, or "
            "save its scores in a file of their own."
        )
    return table


def load_table(path: Path, argument: str) -> Table:
    """Read one array; `argument` is the .npz key and the name in messages."""
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise InputError(
            f"`{argument}` must not be a pickle, which can run any code when it is opened; got "
            f"{path}. Save the array with numpy.save instead."
        )
    if suffix not in READERS:
        raise InputError(f"`{argument}` must be a file of type {', '.join(READERS)}; got {path}")
    if not path.is_file():
        raise InputError(f"`{argument}` must be a file that exists; got {path}")
    try:
        return READERS[suffix](path, argument)
    except OSError as error:
        raise InputError(
            f"`{argument}` must be a readable {suffix} file; got {path}: {error}"
        ) from error


def _read_numpy(path: Path, argument: str) -> Table:
    """Read the array of a .npy file, or one of the arrays of a .npz file."""
    try:
        # Overflow is that of a damaged shape, multiplied out.
        with path.open("rb") as stream, np.errstate(over="raise"):
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                if path.suffix == ".npz":
                    raise InputError(
                        f"`{argument}` must be an archive with `draws` and `scores` if it is named "
                        f".npz; got {path}, which holds a single array. Name it .npy."
                    )
                return Table(loaded)
            return _of_archive(loaded, path, argument)
    except PolysteinError:
        raise
    except MemoryError as error:
        raise InputError(
            f"`{argument}` must be an intact NumPy file that fits into memory; got {path}: {error}"
        ) from error
    except Exception as error:  # damaged files make NumPy and zipfile raise errors of any class
        raise InputError(
            f"`{argument}` must be an intact NumPy file of plain numbers, without pickled "
            f"objects; got {path}: {fault_of_numpy_file(error)}"
        ) from error


def _of_archive(archive: Any, path: Path, argument: str) -> Table:
    """The array of the right key of a .npz file, with its names and log-weights."""
    with archive:
        keys = sorted(archive.files)
        if len(set(keys)) < len(keys):
            raise InputError(
                f"`{argument}`: the keys of {path} must differ from each other; got {keys}"
            )
        if argument not in keys:
            raise InputError(f"`{argument}` must be a key of {path}; got the keys {keys}")
        if not _KEYS.issuperset(keys):
            raise InputError(
                f"`{argument}`: the keys of {path} must be {', '.join(sorted(_KEYS))}, of which "
                f"only log_weights and names may be missing; got {keys}"
            )
        log_weights = archive["log_weights"] if "log_weights" in keys else None
        names = None
        if "names" in keys:
            found = archive["names"]
            if found.dtype.kind not in "US" or found.ndim != 1:
                raise InputError(
                    f"`{argument}`: the key names of {path} must be a list of strings; got dtype "
                    f"{found.dtype} of shape {found.shape}"
                )
            names = tuple(str(name) for name in found.astype(str))
        beside = tuple(key for key in _ROWS if key in keys and key != argument)
        return Table(archive[argument], names, log_weights, beside)


def _read_csv(path: Path, argument: str) -> Table:
    """Read a table of numbers below an optional line of names."""
    if is_stan_csv(path):
        raise InputError(
            f"`{argument}` must be a table of numbers; got {path}, a file of CmdStan. Pass its "
            "diagnostic files alone, which hold draws and gradients (`--cmdstan`, `from_cmdstan`)."
        )
    return Table(*read_csv(path, argument))


def _read_parquet(path: Path, argument: str) -> Table:
    file = ParquetFile(path, argument, "cli")
    values = np.empty((sum(file.sizes), len(file.names)))
    try:
        stop = 0
        for group, size in enumerate(file.sizes):
            values[stop : stop + size] = file.read(group)
            stop += size
    except MemoryError:
        raise
    except Exception as error:  # PyArrow's errors share no class
        raise InputError(f"`{argument}` could not be read from {path}: {error}") from error
    return Table(values, file.names)


READERS: dict[str, Callable[[Path, str], Table]] = {
    ".npy": _read_numpy,
    ".npz": _read_numpy,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}
