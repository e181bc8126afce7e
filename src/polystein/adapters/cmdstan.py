"""CmdStan: diagnostic files with unconstrained parameters and gradients; no Stan is needed."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from polystein._lib.arguments import path_of
from polystein._lib.notes import warn_caller
from polystein.adapters.assemble import assemble, stan_names
from polystein.adapters.csv_table import is_number
from polystein.data.foreign import type_name
from polystein.data.sample import Sample
from polystein.data.selection import Selection
from polystein.errors import InputError, ScoreWarning
from polystein.types import Array, FloatArray

#: What precedes the columns of momenta and of gradients.
_MOMENTUM, _GRADIENT = "p_", "g_"
_SETTING = re.compile(r"#\s*(\w+)\s*=\s*(\S+)")
#: With fewer digits than this in every cell, rounding is noticed.
_ENOUGH_DIGITS = 12
#: Digits are counted in this many rows, the last ones: all rows are written in one format.
_ROWS_FOR_DIGITS = 20
_HOW_TO_SAVE = (
    "Sample with `output diagnostic_file=diagnostic.csv sig_figs=18`, in CmdStanPy "
    "`model.sample(..., save_latent_dynamics=True, sig_figs=18)`"
)


class DiagnosticFile(NamedTuple):
    """One chain: the settings in the comments, the columns' names and the numbers."""

    settings: dict[str, str]
    columns: list[str]
    values: FloatArray
    digits: int


def from_cmdstan(
    files: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    thin: int = 1,
    drop_first: int = 0,
) -> Sample:
    """Read unconstrained draws and gradients that CmdStan wrote, as a `Sample`.

    Parameters
    ----------
    files : path, pattern, sequence of paths, or CmdStanMCMC
        The diagnostic CSV files of a run, one for each chain: those of ``diagnostic_file=`` in
        CmdStan, of ``save_latent_dynamics=True`` in CmdStanPy and cmdstanr. A pattern has ``*``
        or ``?`` in it.
    var_names, thin, drop_first
        As for `Sample.select`.

    Returns
    -------
    Sample
        With divergences, tree depths and energies among its facts. Draws of the warm-up are not
        included. Files with few digits are warned about: pass ``sig_figs=18``.

    Examples
    --------
    ``ps.check(ps.from_cmdstan("diagnostic_*.csv"))`` checks all chains of a run. What the columns
    of a file become:

    >>> import pathlib
    >>> import tempfile
    >>> import polystein as ps
    >>> text = '''# num_samples = 2
    ... # num_warmup = 1000
    ... # save_warmup = false
    ... # thin = 1
    ... lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,p_mu,g_mu
    ... -0.5,0.9,0.8,2,3,0,1.25,0.5123456789012345,0.3,0.5123456789012345
    ... -0.1,0.9,0.8,2,3,0,1.25,-0.123456789012345,0.2,-0.123456789012345
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "diagnostic_1.csv"
    ...     _ = path.write_text(text)
    ...     sample = ps.from_cmdstan(path)
    >>> sample.names, sample.layout.lengths
    (('mu',), (2,))
    >>> print(sample.scores.ravel())  # minus the gradients of the potential energy, g_mu
    [-0.51234568  0.12345679]
    """
    selection = Selection(var_names, thin, drop_first)
    chains = [_after_warm_up(read_diagnostics(path)) for path in _paths(files)]
    _require_alike(chains)
    first = chains[0]
    parameters = _parameters(first.columns)
    kept = selection.rows(np.stack([chain.values for chain in chains]))
    place = {name: number for number, name in enumerate(first.columns)}
    return assemble(
        kept[..., [place[name] for name in parameters]],
        # CmdStan writes the gradient of the potential energy, which is minus the log-density.
        -kept[..., [place[_GRADIENT + name] for name in parameters]],
        stan_names(parameters),
        selection,
        statistics=_statistics(first, kept, place),
        warnings=_note_digits(chains),
    )


def is_stan_csv(path: Path) -> bool:
    """Whether a file begins as CmdStan's CSV files do."""
    with path.open("rb") as stream:
        return stream.read(200).lstrip().startswith(b"# stan_version_major")


def _paths(files: Any) -> list[Path]:
    if hasattr(files, "runset"):  # a CmdStanMCMC of CmdStanPy
        files = [path for path in files.runset.diagnostic_files if path]
        if not files:
            raise InputError(
                "`files` must be a fit with diagnostic files; got a CmdStanMCMC without them. "
                f"{_HOW_TO_SAVE}."
            )
    if isinstance(files, str) and re.search(r"[*?]", files):
        files = sorted(glob.glob(files)) or [files]
    listed: Iterable[Any] = [files] if isinstance(files, str | os.PathLike) else files
    if not isinstance(listed, Iterable):
        raise InputError(f"`files` must be paths of CSV files; got a {type_name(files)}")
    paths = [path_of(one, "files") for one in listed]
    missing = [path for path in paths if not path.is_file()]
    if missing or not paths:
        raise InputError(f"`files` must be files that exist; got {missing[0] if missing else []}")
    return paths


def read_diagnostics(path: Path) -> DiagnosticFile:
    """Read one CSV file of CmdStan, its comments and messages left out of the numbers."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"`files` must be CSV files in UTF-8; got {path}: {error}") from error
    settings: dict[str, str] = {}
    columns: list[str] = []
    rows: list[list[str]] = []
    *lines, unfinished = text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            if not rows and (found := _SETTING.match(line)):
                settings.setdefault(found[1], found[2])
        elif not columns:
            columns = line.strip().split(",")
        elif _is_row(line, len(columns)):
            cells = line.strip().split(",")
            if len(cells) != len(columns):
                raise InputError(
                    f"`files`, line {number} of {path}: expected {len(columns)} numbers, as the "
                    f"header has names; got {len(cells)}. Is the file complete?"
                )
            rows.append(cells)
    # CmdStan ends every line with a line break: without it the last number may lack digits.
    if _is_row(unfinished, len(columns)):
        raise InputError(
            f"`files`, line {len(lines) + 1} of {path}: expected a line break at the end; got the "
            "end of the file. Is the file complete?"
        )
    if not rows:
        raise InputError(f"`files` must hold draws; got {path} without any")
    try:
        values = np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise InputError(f"`files` must hold numbers; got {path}: {error}") from error
    digits = max(_digits(cell) for row in rows[-_ROWS_FOR_DIGITS:] for cell in row)
    return DiagnosticFile(settings, columns, values, digits)


def _is_row(line: str, columns: int) -> bool:
    """Whether a line is a row, perhaps a damaged one, and no message of the model.

    A row begins with a number, or has one cell for each column and a number among them.
    """
    cells = line.split(",")
    return any(map(is_number, cells if len(cells) == columns else cells[:1]))


def _digits(cell: str) -> int:
    """Significant digits of a number as it is written."""
    return len(re.split("[eE]", cell)[0].lstrip("+-").replace(".", "").lstrip("0"))


def _parameters(columns: list[str]) -> list[str]:
    """The parameters that have a gradient, in the order of the file."""
    known = set(columns)
    found = [
        name for name in columns if {_MOMENTUM + name, _GRADIENT + name} <= known
    ]  # fmt: skip
    if not found:
        raise InputError(
            "`files` must be diagnostic files with gradients, the columns g_...; got Stan's "
            f"ordinary output with the columns {', '.join(columns[:10])}. {_HOW_TO_SAVE}, and "
            "pass the diagnostic files."
        )
    return found


def _require_alike(chains: list[DiagnosticFile]) -> None:
    first = chains[0]
    for number, chain in enumerate(chains[1:], 2):
        if chain.columns != first.columns:
            raise InputError(f"`files` must come from one run; file {number} has other columns")
        if len(chain.values) != len(first.values):
            raise InputError(
                f"`files` must hold chains of one length; got {len(first.values)} and "
                f"{len(chain.values)} rows. Is a file incomplete?"
            )


def _count(settings: dict[str, str], name: str, default: int) -> int:
    """A setting that is a whole number."""
    text = settings.get(name, str(default))
    # CmdStan writes plain digits; a count of more than 18 is none.
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise InputError(
            f"`files` must have a whole number for {name} in their comments; got {text!r}"
        )
    return int(text)


def _after_warm_up(chain: DiagnosticFile) -> DiagnosticFile:
    """The chain after the warm-up, which is in the file if it was saved."""
    settings = chain.settings
    if settings.get("save_warmup", "0") not in ("1", "true"):
        return chain
    thin = max(1, _count(settings, "thin", 1))
    saved = -(-_count(settings, "num_warmup", 1000) // thin)
    if saved >= len(chain.values):
        raise InputError(
            f"`files` must hold draws after the warm-up; got {len(chain.values)} rows, of which "
            f"{saved} are warm-up"
        )
    return chain._replace(values=chain.values[saved:])


def _statistics(chain: DiagnosticFile, kept: FloatArray, place: dict[str, int]) -> dict[str, Array]:
    found: dict[str, Array] = {
        name: kept[..., place[name]] for name in ("divergent__", "energy__") if name in place
    }
    if "treedepth__" in place:
        deepest = _count(chain.settings, "max_depth", 10)
        found["reached_max_treedepth"] = kept[..., place["treedepth__"]] >= deepest
    return found


def _note_digits(chains: list[DiagnosticFile]) -> list[str]:
    digits = max(chain.digits for chain in chains)
    if digits >= _ENOUGH_DIGITS:
        return []
    warning = ScoreWarning(
        f"the files hold draws and gradients with {digits} digits: rounding may pass for a fault. "
        "Sample with `sig_figs=18`."
    )
    warn_caller(warning)
    return [str(warning)]
