"""The package as a whole: its version, its public names, its typing mark and its floor plan."""

import ast
import graphlib
import importlib
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import polystein

# Found through the installed package, so that a wheel is tested as well as a checkout.
PACKAGE = Path(polystein.__file__).parent

#: A room imports only rooms to its left, and rooms between the same bars not each other.
ARROWS = (
    "errors, types, _version | _lib | inference, theory | data | adapters, scale | stein | weights "
    "| results | explain | methods | refinement | rivals | report "
    "| workflows, testing | experiments | cli | __main__"
)
#: Imports against the arrows, which happen when a function is called and not before.
LAZY = {
    # Methods of a result show it.
    ("results.result", "report"),
    ("results.effects", "report"),
    ("results.refinement", "report"),
    ("results.many", "report"),
    ("results.same_target", "report"),
    ("results.sampler_comparison", "report"),
    ("results.summary", "report"),
    # The door takes objects of other libraries, whose adapters are imported when one is met.
    ("data.foreign", "adapters"),
}
#: What the package itself publishes; the rooms after these are for programs, not for `import`.
PUBLISHED = {
    "errors",
    "_version",
    "inference",
    "theory",
    "data",
    "adapters",
    "scale",
    "stein",
    "weights",
    "results",
}
PUBLISHED |= {"explain", "methods", "refinement", "rivals", "report", "workflows"}
PUBLISHED |= {"testing"}
#: What the package imports first: Ctrl-C while the command line is imported.
FIRST = "polystein._lib.interrupts"
CORE_DEPENDENCIES = {"numpy", "scipy", "threadpoolctl"}
CLI_ROOMS = {"report", "experiments", "cli"}
CLI_DEPENDENCIES = {"typer", "rich", "matplotlib", "pyarrow", "jinja2"}
RANK = {
    room.strip(): rank for rank, group in enumerate(ARROWS.split("|")) for room in group.split(",")
}


class Import(NamedTuple):
    """One imported module: its dotted name, and whether a function imports it when called."""

    target: str
    lazy: bool


def dotted(path: Path) -> str:
    """The name of a module inside the package: ``data.source``, ``data`` for its `__init__`."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}
ROOMS = sorted({name.partition(".")[0] for name in MODULES if name} - {"__main__"})


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


@cache
def imports_of(name: str) -> list[Import]:
    """Return the imports of a module of the package ("" for the package itself)."""
    path = MODULES[name]
    full = f"polystein.{name}".rstrip(".")
    return list(imports(ast.parse(path.read_text("utf-8")), full, path.name == "__init__.py"))


def room_of(target: str) -> str | None:
    """Return the room of polystein that a dotted name is in, or None outside of the package."""
    parts = target.split(".")
    return parts[1] if parts[0] == "polystein" and len(parts) > 1 else None


def against_the_arrows(name: str, found: list[Import]) -> set[str]:
    """Return what a module reaches for that is not to the left of its room."""
    own = name.partition(".")[0]
    wrong = set()
    for target, lazy in found:
        room = room_of(target)
        if room is None or room == own or (lazy and (name, room) in LAZY):
            continue
        allowed = (room in PUBLISHED or target == FIRST) if not name else RANK[room] < RANK[own]
        if not allowed:
            wrong.add(target)
    return wrong


def module_of(target: str) -> str | None:
    """Return the module of the package that an import refers to, or None."""
    name = target.removeprefix("polystein.")
    if target.split(".")[0] != "polystein":
        return None
    return name if name in MODULES else name.rpartition(".")[0]


def test_version_is_that_of_the_distribution() -> None:
    assert polystein.__version__ == importlib.metadata.version("polystein")


def test_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


@pytest.mark.parametrize("module", [polystein, polystein.testing, polystein.theory])
def test_dir_shows_the_public_names_and_they_exist(module: object) -> None:
    names = list(module.__all__)  # type: ignore[attr-defined]
    assert sorted(dir(module)) == sorted(names)
    assert [name for name in names if not hasattr(module, name)] == []


def test_public_names_are_sorted() -> None:
    def constants_classes_functions(name: str) -> tuple[bool, bool, str]:
        # Ruff's order of `__all__` (RUF022): SCREAMING names, CamelCase names, the rest.
        return (not name.isupper(), not name[0].isupper(), name)

    names = list(polystein.__all__)
    assert names == sorted(set(names), key=constants_classes_functions)


def test_nothing_is_public_beyond_all() -> None:
    # Some names are rooms that importing the package leaves behind as attributes. Those of pytest,
    # which rewrites assertions in an installed package with a plugin, begin with "@".
    public = {name for name in vars(polystein) if not name.startswith(("_", "@"))} - set(ROOMS)
    assert public <= set(polystein.__all__)


def test_no_room_has_the_name_of_a_public_function() -> None:
    assert set(ROOMS) & set(polystein.__all__) == {"testing", "theory"}
    assert callable(polystein.check)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("polystein.check")


def test_every_room_stands_in_the_table() -> None:
    assert set(ROOMS) <= set(RANK)


@pytest.mark.parametrize("room", [room for room in ROOMS if (PACKAGE / room).is_dir()])
def test_every_room_says_what_lives_there(room: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[room].read_text("utf-8")))


def test_arrows_point_one_way() -> None:
    wrong = {name: against_the_arrows(name, imports_of(name)) for name in MODULES}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_modules_import_each_other_without_cycles() -> None:
    graph = {
        name: {
            target
            for found in imports_of(name)
            if not found.lazy and (target := module_of(found.target))
        }
        - {name}
        for name in MODULES
        if name
    }
    # Raises CycleError, which shows the cycle, unless the arrows point one way.
    assert set(graph) <= set(graphlib.TopologicalSorter(graph).static_order())


def test_the_library_needs_only_the_declared_dependencies() -> None:
    allowed = CORE_DEPENDENCIES | {"polystein"} | set(sys.stdlib_module_names)
    further = {
        (name, target)
        for name in MODULES
        if name.split(".")[0] not in CLI_ROOMS
        for target, _ in imports_of(name)
        if target.split(".")[0] not in allowed
    }
    assert further == set()


def test_modules_stay_within_400_lines() -> None:
    lines = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > 400} == {}


def test_tests_stay_within_400_lines() -> None:
    here = Path(__file__).parent
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in here.rglob("*.py")}
    assert {path.relative_to(here): count for path, count in lines.items() if count > 400} == {}


def test_the_floor_plan_names_what_there_is() -> None:
    """Files in the tables of CONTRIBUTING.md exist, and protocols are where it says."""
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text("utf-8")
    plan = text[text.index("## Where things go") : text.index("### Words")]
    files = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", plan))
    assert len(files) > 20
    elsewhere = {name for name in files if name.startswith(("tests/", "docs/", "integration/"))}
    assert {name for name in files - elsewhere if not (PACKAGE / name).is_file()} == set()
    ours = {name for name in elsewhere if not name.startswith("integration/")}
    assert {name for name in ours if not (Path(__file__).parents[1] / name).is_file()} == set()
    for names, file in re.findall(r"^\| (`[A-Z].*?`) \| `(.*?)` \|", plan, re.MULTILINE):
        source = (PACKAGE / file).read_text("utf-8")
        assert [one for one in re.findall(r"`(\w+)`", names) if f"class {one}" not in source] == []


@pytest.mark.slow
@pytest.mark.processes
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
        ("methods.gof", "import polystein.rivals.ksd", {"polystein.rivals.ksd"}),
        ("methods.gof", "from polystein.report import text", {"polystein.report.text"}),
        ("methods.gof", "from .. import cli", {"polystein.cli"}),
        ("methods.gof", "from polystein.stein import moments", set()),
        ("methods.gof", "from polystein.methods import wild", set()),
        (
            "theory.exact",
            "from polystein.inference import pvalues",
            {"polystein.inference.pvalues"},
        ),
        ("data.sample", "from polystein.stein.basis import Basis", {"polystein.stein.basis.Basis"}),
        ("results.result", "def f():\n    from polystein.report import text", set()),
        ("results.result", "from polystein.report import text", {"polystein.report.text"}),
        (
            "results.evidence",
            "def f():\n    from polystein.report import x",
            {"polystein.report.x"},
        ),
        ("results.result", "def f():\n    from polystein import cli", {"polystein.cli"}),
        ("", "from polystein.rivals.ksd import ksd", set()),
        ("", "from .experiments import run", {"polystein.experiments.run"}),
    ],
)
def test_the_test_of_the_arrows_sees_imports_against_them(
    name: str, source: str, expected: set[str]
) -> None:
    found = list(imports(ast.parse(source), f"polystein.{name}".rstrip("."), is_package=not name))
    assert against_the_arrows(name, found) == expected
