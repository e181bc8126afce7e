"""Where a command's draws and scores come from: files, CmdStan's chains, a function of the user."""

from __future__ import annotations

import glob
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polystein._lib.imports import imported
from polystein.adapters.arviz import NoGradientsError
from polystein.adapters.cmdstan import from_cmdstan
from polystein.adapters.file import from_file
from polystein.adapters.pymc import from_pymc
from polystein.data.source import Source
from polystein.errors import InputError
from polystein.scale.door import from_store

#: Tables of more bytes than this are not read into memory.
LARGE_FILE = 2**28


@dataclass(frozen=True)
class Input:
    """What the command line was told about draws and scores."""

    draws: Path | None
    scores: Path | None = None
    scores_from: str | None = None
    cmdstan: str | None = None
    target: str | None = None
    var_names: tuple[str, ...] = ()
    thin: int = 1
    drop_first: int = 0
    cache: Path | None = None
    model: str | None = None

    def load(self) -> Source:
        """Read everything, or open what is to be read in blocks."""
        selection: dict[str, Any] = {
            "var_names": list(self.var_names) or None,
            "thin": self.thin,
            "drop_first": self.drop_first,
        }
        self._check()
        if self.cmdstan is not None:
            return from_cmdstan(self.cmdstan, **selection)
        if self.draws is None:
            raise InputError("DRAWS must be given: a file, or `--cmdstan` with CmdStan's files")
        if self.model is not None:
            return from_pymc(model_of(self.model), self.draws, **selection)
        if self._stays_in_file(self.draws):
            return from_store(self.draws, self._scores(), cache=self.cache)
        if self.cache is not None:
            raise InputError("`--cache` is for draws that are read in blocks; these are in memory")
        try:
            return from_file(self.draws, self._scores(), **selection)
        except NoGradientsError as error:
            raise InputError(
                "add `--model my_module:build`, a function that returns your PyMC model; "
                + str(error).removeprefix("`scores` must be given: ")
            ) from error

    def files(self) -> list[Path]:
        """The files and folders that are read, as far as they exist."""
        named = [self.draws, self.scores, self.scores_from]
        for code in (self.target, self.model):
            if code is not None:
                module = code.partition(":")[0].removesuffix(".py")
                named.append(f"{module.replace('.', '/')}.py")
        if self.cmdstan is not None:
            named += [self.cmdstan, *glob.glob(self.cmdstan)]
        return [Path(one) for one in named if one is not None and os.path.exists(one)]

    def _stays_in_file(self, draws: Path) -> bool:
        """Whether rows are read in blocks: a large table, a folder of them, a store of arrays."""
        if self.var_names or self.thin != 1 or self.drop_first or self.scores_from is not None:
            return False
        suffix = draws.suffix.lower()
        if os.path.isdir(draws):  # False also for a name that is too long
            parquet = any(file.suffix.lower() == ".parquet" for file in draws.iterdir())
            return (draws / "draws").is_dir() if suffix == ".zarr" else parquet
        if suffix in (".h5", ".hdf5"):
            return _holds_draws(draws)
        return suffix in (".npy", ".parquet") and _size(draws) > LARGE_FILE

    def _check(self) -> None:
        """Refuse more than one source of scores."""
        given = {
            "SCORES": self.scores,
            "--scores-from": self.scores_from,
            "--target": self.target,
            "--model": self.model,
            "--cmdstan": self.cmdstan,
        }
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise InputError(f"scores must come from one place; got {' and '.join(named)}")
        if self.cmdstan is not None and self.draws is not None:
            raise InputError(
                f"`--cmdstan` must be given without DRAWS; got {self.draws}. Quote the pattern, "
                "as in --cmdstan 'chain_*.csv'"
            )

    def _scores(self) -> Any:
        if self.target is not None:
            return score_function(self.target)
        return self.scores if self.scores is not None else self.scores_from


def _size(path: Path) -> int:
    return path.stat().st_size if os.path.isfile(path) else 0


def _holds_draws(path: Path) -> bool:
    """Whether an HDF5 file has an array `draws`, and is none of ArviZ's."""
    if importlib.util.find_spec("h5py") is None:
        return False
    h5py = imported("h5py", "scale", "reading an HDF5 file")
    try:
        with h5py.File(path, "r") as file:
            return "draws" in file and hasattr(file["draws"], "shape")
    except OSError:
        return False


def model_of(model: str) -> Any:
    """The PyMC model of ``module:function``, or of a name that holds a model or an approximation.

    A function is called without arguments.
    """
    expected = "a PyMC model, or a function that returns one"
    found = _named(model, "--model", expected)
    if not callable(found) or hasattr(found, "logp_dlogp_function"):
        return found
    with _own_code("--model", model, "function", expected):
        return found()


def score_function(target: str, gives: str = "scores") -> Callable[[Any], Any]:
    """The function ``module:function`` of the user, found also in the current directory.

    ``gives`` says what it is expected to return.
    """
    expected = f"a function of (n, d) draws that returns their {gives}"
    found = _named(target, "--target", expected)
    if not callable(found):
        raise InputError(
            f"`--target` must name {expected}; got {target!r}, which is {type(found).__name__}"
        )

    def score(draws: Any) -> Any:
        with _own_code("--target", target, f"{gives.removesuffix('s')} function", expected):
            return found(draws)

    return score


def _named(code: str, option: str, expected: str) -> Any:
    """What ``module:name`` of the user holds, found also in the current directory."""
    module, colon, name = code.partition(":")
    if not (colon and module and name):
        raise InputError(f"`{option}` must be module:function; got {code!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    with _own_code(option, code, "module", expected):
        try:
            found: Any = importlib.import_module(module.removesuffix(".py"))
        except ModuleNotFoundError as error:
            raise InputError(f"`{option}` must name a module that exists; {error}") from error
        for part in name.split("."):
            found = getattr(found, part, None)
    if found is None:
        raise InputError(f"`{option}` must name {expected}; got {code!r}, which is missing")
    return found


@contextmanager
def _own_code(option: str, code: str, part: str, expected: str) -> Iterator[None]:
    """Turn errors of the user's code into errors of the input; not Ctrl-C or lack of memory."""
    try:
        yield
    except (KeyboardInterrupt, MemoryError, InputError):
        raise
    except SystemExit as stop:
        raise InputError(
            f"`{option}` must not end the program; the {part} of {code} called "
            f"sys.exit({'' if stop.code is None else repr(stop.code)})"
        ) from stop
    except Exception as error:
        raise InputError(
            f"`{option}` must be {expected}; the {part} of {code} raised "
            f"{type(error).__name__}: {error}"
        ) from error
