"""The page on versions lists every public name once, and the versions that are tested."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import polystein

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "versions.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CI = (ROOT / ".ci" / "run").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def statuses(text: str) -> list[tuple[str, str]]:
    """(name, status) of every name in a table whose rows end in a status."""
    rows = re.findall(r"^\| (`.*`) \| (stable|experimental) \|$", text, re.MULTILINE)
    return [(name, status) for names, status in rows for name in re.findall(r"`(\w+)`", names)]


def classified_pythons() -> set[str]:
    return {
        found[1]
        for classifier in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", classifier))
    }


def test_every_public_name_is_stable_or_experimental() -> None:
    found = statuses(section("Stable and experimental names"))
    assert Counter(name for name, _ in found) == Counter(polystein.__all__)
    assert {status for _, status in found} == {"stable", "experimental"}


def test_a_missing_and_a_doubled_name_are_noticed() -> None:
    text = "| `check`, `psd` | stable |\n| `psd` | experimental |\n"
    assert statuses(text) == [("check", "stable"), ("psd", "stable"), ("psd", "experimental")]


def test_the_lowest_versions_are_those_of_the_project() -> None:
    table = dict(re.findall(r"^\| (\w+)[^|]*\| ([0-9.]+) \|", section("Supported versions"), re.M))
    required = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"]]
    bounds = dict(item.split(">=") for item in required if ">=" in item)
    assert f">={table.pop('Python')}" == PROJECT["requires-python"]
    assert table == {name: bounds[name.lower()] for name in table}
    assert {name.lower() for name in table} >= {item.split(">=")[0] for item in required[:3]}


def test_windows_of_spec_0_are_36_months_for_python_and_24_for_packages() -> None:
    rows = re.findall(
        r"^\| (\w+)[^|]*\| [0-9.]+ \| (\w+) (\d{4}) \| (\w+) (\d{4}) \|$",
        section("Supported versions"),
        re.M,
    )
    assert {name for name, *_ in rows} == {"Python", "NumPy", "SciPy", "Matplotlib"}
    for name, month, year, last_month, last_year in rows:
        assert (last_month, int(last_year)) == (month, int(year) + (3 if name == "Python" else 2))


def test_the_table_of_extras_has_the_lowest_versions_of_the_project() -> None:
    page = (ROOT / "docs" / "start" / "install.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| `(\w+)` \| ([^|]+) \|$", page, re.M)
    listed = {extra: set(versions.split(", ")) for extra, versions in rows}
    bounds = {
        extra: {
            f"{found[1]} {found[2]}"
            for item in items
            if (found := re.match(r"(\w+)(?:\[\w+\])?>=([0-9.]+)$", item))
        }
        for extra, items in PROJECT["optional-dependencies"].items()
        if extra != "test"
    }
    assert listed == bounds


def test_the_citation_names_this_version() -> None:
    page = (ROOT / "docs" / "start" / "questions.md").read_text("utf-8")
    assert f"version = {{{polystein.__version__}}}," in page


def test_classifiers_name_the_pythons_that_are_tested() -> None:
    (covered,) = re.findall(r"^covered_python=(\S+)$", CI, re.M)
    (others,) = re.findall(r"^other_pythons=\((.*)\)$", CI, re.M)
    lowest = PROJECT["requires-python"].removeprefix(">=")
    tested = {lowest, covered, *others.split()}
    assert classified_pythons() == tested
    rows = set(re.findall(r"^\| (3\.\d+) \| `\.ci/run", section("Supported versions"), re.M))
    assert rows == tested
