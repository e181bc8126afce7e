"""From what users have to a source: stored arrays, files by their names, blocks on the fly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from polystein._lib.arguments import path_of
from polystein._lib.files import fault_of_numpy_file
from polystein._lib.imports import imported
from polystein._lib.zarr_codecs import require_safe_store
from polystein.data.foreign import is_with_dask
from polystein.data.guard.pairing import require_same_labels
from polystein.data.source import Source
from polystein.errors import InputError, PolysteinError
from polystein.scale.blocks import BlockSource
from polystein.scale.dask import from_dask
from polystein.scale.sources import EvaluatedScores, StoredSource
from polystein.scale.stores import ArrayTable, LabelledTable, ParquetTable, Table
from polystein.types import Array, Progress, ScoreFunction

#: How the names of files end that hold arrays by name, "draws" and "scores".
HDF5 = (".h5", ".hdf5", ".nc", ".nc4")


def from_store(
    draws: Array | str | os.PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]],
    scores: Array | str | os.PathLike[str] | ScoreFunction | None = None,
    *,
    names: Sequence[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Source:
    """Draws and scores that are read in blocks when they are needed, and never all at once.

    Every function that takes draws also takes these directly, as in ``check(draws, scores)``.
    This function adds options for names, a cache and progress.

    Parameters
    ----------
    draws : array in a file, path, or blocks
        A NumPy memmap; an array of Zarr, h5py or netCDF4; a Dask array; a DataArray or Dataset
        of xarray that is backed by Dask; the path of a .npy or .parquet file, of a folder of
        .parquet files, or of a .zarr store or .h5 file with arrays named ``draws`` and
        ``scores``. Or blocks: an iterable of pairs (draws, scores), or a function that makes
        one, walked anew in every pass.
    scores : likewise, or callable, optional
        Scores of the shape of the draws, or a function of (n, d) draws, which is applied block
        by block. With it, blocks are arrays of draws.
    names : sequence of str, optional
        One name for each coordinate. Columns of Parquet files and variables of a Dataset
        have their own.
    cache : str or path, optional
        A folder for a scratch file, 8 bytes for each number, that keeps the values of a score
        function: it is then evaluated once for each row, and otherwise in every pass. The file
        has no name and is deleted with the source.
    progress : callable, optional
        Called as ``progress(rows, 0)`` while blocks that do not say their ``shape`` are
        walked to count their rows.

    Returns
    -------
    Source
        (n, d) arrays, Parquet files and blocks are independent rows, or one chain in time
        order to `check`. Arrays of shape (chain, draw, d) are chains.

    Examples
    --------
    >>> import numpy as np
    >>> import polystein as ps
    >>> def blocks():
    ...     rng = np.random.default_rng(0)  # the same blocks in every pass
    ...     for _ in range(20):
    ...         draws = rng.standard_normal((500, 3))
    ...         yield draws, -draws
    >>> source = ps.from_store(blocks)
    >>> source
    BlockSource(10000 draws, d=3)
    >>> ps.check(source, iid=True).verdict
    'not rejected'
    """
    folder = None if cache is None else path_of(cache, "cache")
    if folder is not None and not callable(scores):
        raise InputError("`cache` must be given with a score function only; got scores or none")
    if is_with_dask(draws, scores):
        if folder is not None:
            raise InputError(
                "`cache` must not be given with Dask arrays, whose scores are evaluated by the "
                f"workers; got {folder}"
            )
        return from_dask(draws, scores, names)
    if _is_blocks(draws, scores):
        blocks: Any = draws
        score = scores if callable(scores) else None
        return BlockSource(blocks, score, names=names, cache=folder, progress=progress)
    left, right = _tables(draws, scores)
    if callable(right):
        right = EvaluatedScores(right, left.layout, folder)
    source = StoredSource(left, right, names)
    require_same_labels(draws, scores)
    return source


def _is_blocks(draws: Any, scores: Any) -> bool:
    """Whether these are blocks to walk over: no array, no path, and no scores as an array."""
    if isinstance(draws, str | os.PathLike) or (hasattr(draws, "dtype") and len(draws.shape) > 1):
        return False
    if type(draws).__module__.startswith("xarray."):
        return False
    if scores is not None and not callable(scores):
        raise InputError(
            "`scores` must be a function, or part of every block, where `draws` are blocks; got "
            f"{type(scores).__name__}"
        )
    return True


def _tables(draws: Any, scores: Any) -> tuple[Table, Any]:
    """The table of draws, and that of scores or a function."""
    left, beside = _table(draws, "draws")
    if scores is None:
        if beside is None:
            raise InputError(
                "`scores` must be an array of the shape of `draws`, a file or a callable; got None"
            )
        return left, _table(beside, "scores")[0]
    if callable(scores) and not hasattr(scores, "dtype"):
        return left, scores
    if all(isinstance(one, str | os.PathLike) for one in (draws, scores)) and (
        os.path.exists(scores) and os.path.samefile(draws, scores)
    ):
        raise InputError(
            f"`scores` must be gradients of the log-density at the draws; got {scores}, the file "
            "of the draws themselves"
        )
    return left, _table(scores, "scores")[0]


def _table(value: Any, argument: str) -> tuple[Table, Any]:
    """A table, and what holds the scores beside it in the same file."""
    if isinstance(value, str | os.PathLike):
        return _opened(path_of(value, argument), argument)
    if type(value).__module__.startswith("xarray."):
        return LabelledTable(value, argument), None
    if not all(hasattr(value, name) for name in ("shape", "dtype", "__getitem__")):
        try:
            value = np.asarray(value)
        except (ValueError, OverflowError) as error:
            raise InputError(f"`{argument}` must be an array of numbers; {error}") from error
    return ArrayTable(value, argument), None


def _opened(path: Path, argument: str) -> tuple[Table, Any]:
    suffix = path.suffix.lower()
    if not (path.is_file() or path.is_dir()):  # a pipe might never be written to
        raise InputError(f"`{argument}` must be a file or folder that exists; got {path}")
    try:
        if suffix == ".npy":
            with np.errstate(over="raise"):  # a damaged shape, multiplied out
                array = np.load(path, mmap_mode="r", allow_pickle=False)
            return ArrayTable(array, argument), None
        if suffix == ".zarr":
            zarr = imported("zarr", "scale", "reading a .zarr store")
            require_safe_store(path, argument)
            return _of_group(zarr.open(str(path), mode="r"), path, argument)
        if suffix in HDF5:
            h5py = imported("h5py", "scale", f"reading a {suffix} file")
            return _of_group(h5py.File(path, "r"), path, argument)
    except (PolysteinError, MemoryError):
        raise
    except Exception as error:  # damaged files make libraries raise errors of any class
        raise InputError(
            f"`{argument}` must be an intact {suffix} file; got {path}: "
            f"{fault_of_numpy_file(error) if suffix == '.npy' else error}"
        ) from error
    if suffix == ".parquet" or path.is_dir():
        return ParquetTable(path, argument), None
    raise InputError(
        f"`{argument}` must be a .npy, .parquet, .zarr or .h5 file, or a folder of .parquet "
        f"files; got {path}"
    )


def _of_group(opened: Any, path: Path, argument: str) -> tuple[Table, Any]:
    """The array of a store, or that of the argument's name with the scores beside it."""
    if hasattr(opened, "shape"):
        return ArrayTable(opened, argument), None
    if argument not in opened:
        raise InputError(
            f"`{argument}` must be an array of that name in {path}; got "
            f"{sorted(map(str, opened))}. Pass `ps.from_file` for files of ArviZ."
        )
    if argument == "scores" and "draws" in opened:
        raise InputError(
            f"`scores` must be a file of scores alone; got {path}, which holds draws of its own. "
            "Pass a complete run as the only argument."
        )
    beside = opened["scores"] if "scores" in opened else None  # noqa: SIM401 - no mapping
    return ArrayTable(opened[argument], argument), beside
