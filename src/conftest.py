"""Examples of adapters run where their library is installed, and are left out elsewhere.

`.ci/run doctests` has none of these libraries. `.ci/run integration` names the modules of the
adapters on the command line; of a module that is named, nothing is left out.
"""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

#: What an example may import and polystein does not need.
LIBRARIES = frozenset(
    {"arviz", "blackjax", "jax", "numpyro", "nutpie", "pymc", "stan", "torch", "xarray"}
)
#: These libraries warn of what they will change. Warnings of ours are errors all the same.
FILTERS = ("default", "error::polystein.errors.PolysteinWarning")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out examples whose library is missing, but for modules on the command line."""
    named = {Path(one.partition("::")[0]).resolve() for one in config.args}
    left_out = []
    for item in items:
        needed = libraries(item)
        if needed:
            item.add_marker(pytest.mark.filterwarnings(*FILTERS))
        if item.path.resolve() not in named and any(find_spec(one) is None for one in needed):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def libraries(item: pytest.Item) -> set[str]:
    """The other libraries that an example imports."""
    if not isinstance(item, pytest.DoctestItem):
        return set()
    nodes = [node for one in item.dtest.examples for node in ast.walk(ast.parse(one.source))]
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in imported} & LIBRARIES
