"""The package as a whole: its version, its public names, its typing mark and its architecture."""

import ast
import graphlib
import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import polystein

# Found through the installed package, so that a wheel is tested as well as a checkout.
PACKAGE = Path(polystein.__file__).parent
OUTER_ROOMS = {"rivals", "adapters", "scale", "report", "experiments", "cli"}
# `__init__` publishes names of these rooms; the core still may not use them.
PUBLISHED_ROOMS = {"rivals", "adapters", "scale"}
CORE_DEPENDENCIES = {"numpy", "scipy", "array_api_compat"}
CLI_DEPENDENCIES = {"typer", "rich", "matplotlib", "pyarrow"}


class Import(NamedTuple):
    """One imported module: its dotted name, and whether a function imports it when called."""

    target: str
    lazy: bool


def absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """Return the dotted name that ``from <this> import`` refers to inside `module`."""
    if node.level == 0:
        return node.module or ""
    parents = module.split(".") if is_package else module.split(".")[:-1]
    kept = parents[: len(parents) - (node.level - 1)]
    return ".".join([*kept, *([node.module] if node.module else [])])


def imports(tree: ast.AST, module: str, is_package: bool, lazy: bool = False) -> Iterator[Import]:
    """Yield every import below `tree`; each name of a from-import counts as a possible module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, module, is_package)
            yield from (Import(f"{base}.{alias.name}", lazy) for alias in node.names)
        else:
            inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(node, module, is_package, inside)


def room(dotted: str) -> str | None:
    """Return the top-level room of polystein that `dotted` names, or None outside of it."""
    parts = dotted.split(".")
    if parts[0] != "polystein":
        return None
    return parts[1] if len(parts) > 1 else "__init__"


def room_imports(name: str) -> list[Import]:
    """Return the imports of the core module `name` ("__init__" for the package itself)."""
    is_package = name == "__init__"
    module = "polystein" if is_package else f"polystein.{name}"
    source = (PACKAGE / f"{name}.py").read_text(encoding="utf-8")
    return list(imports(ast.parse(source), module, is_package))


def forbidden(name: str, found: list[Import]) -> set[str]:
    """Return the outer rooms that the core module `name` reaches for against the arrows."""
    allowed = PUBLISHED_ROOMS if name == "__init__" else set()
    rooms = OUTER_ROOMS - allowed
    return {
        target
        for target, lazy in found
        if room(target) in rooms and not (name == "result" and lazy and room(target) == "report")
    }


CORE = sorted({path.stem for path in PACKAGE.glob("*.py")} - OUTER_ROOMS)


def test_version_is_that_of_the_distribution() -> None:
    assert polystein.__version__ == importlib.metadata.version("polystein")


def test_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_public_names_exist_and_are_sorted() -> None:
    def constants_classes_functions(name: str) -> tuple[bool, bool, str]:
        # Ruff's order of `__all__` (RUF022): SCREAMING names, CamelCase names, the rest.
        return (not name.isupper(), not name[0].isupper(), name)

    names = list(polystein.__all__)
    assert names == sorted(set(names), key=constants_classes_functions)
    assert [name for name in names if not hasattr(polystein, name)] == []


def test_nothing_is_public_beyond_all() -> None:
    modules = {path.stem for path in PACKAGE.iterdir()}
    # Some names are submodules that importing the package leaves behind as attributes.
    public = {name for name in vars(polystein) if not name.startswith("_")} - modules
    assert public <= set(polystein.__all__)


@pytest.mark.parametrize("name", CORE)
def test_core_imports_nothing_of_the_outer_rooms(name: str) -> None:
    assert forbidden(name, room_imports(name)) == set()


def test_core_modules_import_each_other_without_cycles() -> None:
    graph = {
        name: {target for found in room_imports(name) if (target := room(found.target))} - {name}
        for name in CORE
    }
    # Raises CycleError, which shows the cycle, unless the arrows point one way.
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert set(CORE) <= set(order)


@pytest.mark.parametrize("name", CORE)
def test_core_needs_only_the_declared_dependencies(name: str) -> None:
    roots = {target.split(".")[0] for target, _ in room_imports(name)}
    assert roots - set(sys.stdlib_module_names) - {"polystein"} <= CORE_DEPENDENCIES


def test_importing_polystein_loads_nothing_of_the_command_line() -> None:
    code = "import sys, polystein; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stdout.split())
    assert "polystein" in loaded
    assert loaded & CLI_DEPENDENCIES == set()


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("gof", "import polystein.rivals.ksd", {"polystein.rivals.ksd"}),
        ("gof", "from .report import text", {"polystein.report.text"}),
        ("gof", "from . import cli", {"polystein.cli"}),
        ("gof", "def f():\n    from polystein.report import text", {"polystein.report.text"}),
        ("result", "def f():\n    from polystein.report import text", set()),
        ("result", "from polystein.report import text", {"polystein.report.text"}),
        ("result", "class C:\n    from polystein.report import text", {"polystein.report.text"}),
        ("result", "def f():\n    from polystein import cli", {"polystein.cli"}),
        ("__init__", "from polystein.rivals.ksd import ksd", set()),
        ("__init__", "from .experiments import run", {"polystein.experiments.run"}),
    ],
)
def test_the_architecture_test_sees_imports_against_the_arrows(
    name: str, source: str, expected: set[str]
) -> None:
    module = "polystein" if name == "__init__" else f"polystein.{name}"
    found = list(imports(ast.parse(source), module, name == "__init__"))
    assert forbidden(name, found) == expected
