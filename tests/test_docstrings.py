"""Every public name has an example in its docstring, and `.ci/run` runs all of them."""

import ast
import doctest
import re
import sys
from pathlib import Path

import polystein

CI = (Path(__file__).parents[1] / ".ci" / "run").read_text("utf-8")
#: Public functions, classes and modules; a version is a value without a docstring of its own.
PUBLIC = {
    f"{module.__name__}.{name}": value
    for module in (polystein, polystein.testing, polystein.theory)
    for name in module.__all__
    if hasattr(value := getattr(module, name), "__name__")
}
#: What the environment of `.ci/run doctests` has, beside Python itself.
AT_HAND = {"polystein", "numpy", "scipy", "matplotlib"}


def examples(value: object) -> list[doctest.Example]:
    """The examples of a docstring that run. A class does not inherit its docstring."""
    found = doctest.DocTestParser().get_examples(value.__doc__ or "")
    return [one for one in found if not one.options.get(doctest.SKIP)]


def other_libraries(value: object) -> set[str]:
    """What the examples import and `.ci/run doctests` does not have."""
    source = "".join(one.source for one in examples(value))
    nodes = list(ast.walk(ast.parse(source)))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - AT_HAND - sys.stdlib_module_names


def test_every_public_name_has_an_example() -> None:
    assert [name for name, value in PUBLIC.items() if not examples(value)] == []


def test_examples_that_need_another_library_are_run_with_it() -> None:
    listed = re.findall(r'^    adapter_examples \w+ "\S+"(?: \\\n *)? ?(.+)$', CI, re.M)
    expected = {f"polystein.adapters.{adapter}" for line in listed for adapter in line.split()}
    needing = {value.__module__ for value in PUBLIC.values() if other_libraries(value)}
    assert needing == expected
    assert "polystein.adapters.pymc" in expected


def test_what_is_missing_and_what_is_needed_is_seen() -> None:
    class Without(ValueError):
        pass

    def skipped() -> None:
        """>>> import zarr  # doctest: +SKIP"""

    def needs() -> None:
        """Import a library.

        >>> import json
        >>> from zarr.storage import LocalStore
        >>> import numpy as np
        """

    assert examples(Without) == examples(skipped) == []
    assert other_libraries(needs) == {"zarr"}
