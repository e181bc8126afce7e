"""Other libraries, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from polystein.errors import MissingExtraError


def imported(module: str, extra: str | None, what: str = "this adapter") -> Any:
    """A module of another library, or an error that says why there is none.

    A library that is not installed and one that is installed but fails when it is imported need
    different remedies.

    Parameters
    ----------
    module : str
        The dotted name of the module.
    extra : str or None
        The extra of polystein that brings the library; None if none does.
    what : str
        What needs the library, as the subject of "... needs zarr".
    """
    library = module.partition(".")[0]
    try:
        importlib.import_module(library)
        return importlib.import_module(module)
    except Exception as error:  # a broken library may raise anything when it is imported
        if isinstance(error, ModuleNotFoundError) and error.name == library:
            wanted = library if extra is None else f"'polystein[{extra}]'"
            raise MissingExtraError(f"{what} needs {library}: pip install {wanted}") from error
        raise MissingExtraError(
            f"{what} needs {library}, which is installed but cannot be imported: "
            f"{type(error).__name__}: {error}. Repair its installation."
        ) from error
