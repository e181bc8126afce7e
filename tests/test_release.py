"""The release script refuses what is not ready; groups and recipe agree with pyproject.toml."""

import importlib.util
import os
import re
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import polystein as ps

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
#: Not written out, so that the script does not take this file for one with gaps.
MARK = "RELEASE" + "-GAP"
READY = {
    "src/polystein/_version.py": '__version__ = "0.2.0"\n',
    "CHANGELOG.md": "# Changes\n\n## [Unreleased]\n\n## [0.2.0] - 2025-12-01\n\n- A.\n",
    "CITATION.cff": "version: 0.2.0\ndate-released: 2025-12-01\n",
    "conda/recipe.yaml": 'package:\n  name: x\n  version: "0.2.0"\n',
}


def script(name: str) -> ModuleType:
    """A program of `.ci`, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = script("release")
group = script("group")


def tree(folder: Path, **changed: str) -> Path:
    """A tree that is ready for a release but for what is changed, by the file's stem."""
    for name, text in READY.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.pop(path.stem, text), encoding="utf-8")
    assert changed == {}
    return folder


def committed(folder: Path) -> Path:
    """The tree, committed with git."""
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *author, *words], cwd=folder, check=True, timeout=60)
    return folder


def test_a_tree_that_is_ready_is_not_refused(tmp_path: Path) -> None:
    root = tree(tmp_path)
    assert release.stated_version(root) == "0.2.0"
    assert release.disagreements(root, "0.2.0") == []
    assert release.gaps(root, list(READY)) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"CHANGELOG": "## [Unreleased]\n\n- B.\n\n## [0.2.0] - 2025-12-01\n\n- A.\n"}, "still"),
        ({"CHANGELOG": "## [Unreleased]\n\n## [0.2.0] - 2025-12-01\n\n### Added\n"}, "no lines"),
        ({"CHANGELOG": "## [Unreleased]\n\n## [0.2.0]\n\n- A.\n"}, "no section"),
        ({"CHANGELOG": "## [0.1.0] - 2025-12-01\n\n- A.\n"}, "no section"),
        ({"CITATION": "version: 0.2.0.1\ndate-released: 2025-12-01\n"}, "'version: 0.2.0'"),
        ({"CITATION": "version: 0.2.0\ndate-released: 2025-12-02\n"}, "2025-12-01"),
        (
            {
                "CHANGELOG": "## [0.2.0] - 2999-12-01\n\n- A.\n",
                "CITATION": "version: 0.2.0\ndate-released: 2999-12-01\n",
            },
            "in the future",
        ),
        (
            {
                "CHANGELOG": "## [0.2.0] - 2025-13-01\n\n- A.\n",
                "CITATION": "version: 0.2.0\ndate-released: 2025-13-01\n",
            },
            "no date",
        ),
        ({"CITATION": "version: 0.2.0\ndate-released:\n"}, "2025-12-01"),
        ({"recipe": 'package:\n  version: "0.1.0"\n'}, "recipe.yaml"),
    ],
)
def test_what_disagrees_is_named(tmp_path: Path, changed: dict[str, str], words: str) -> None:
    (found,) = release.disagreements(tree(tmp_path, **changed), "0.2.0")
    assert words in found


def test_the_files_of_this_tree_agree_about_the_version() -> None:
    found = release.disagreements(ROOT, ps.__version__)
    assert [one for one in found if "[Unreleased]" not in one] == []


def test_a_version_has_one_line_a_change_in_the_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    released = text[text.index(f"## [{ps.__version__}]") :]
    assert re.findall(r"^[ \t]+\S.*", released, re.M) == []
    assert len(re.findall(r"^- ", released, re.M)) > 100


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (f"Source = 'https://{MARK}.invalid/source'", True),
        (f"name: {MARK}: who wrote it", True),
        (f"a gap is marked by the word {MARK}", False),
        ("a release gap: none", False),
    ],
)
def test_gaps_are_named_with_their_line(tmp_path: Path, line: str, seen: bool) -> None:
    (tmp_path / "page.md").write_text(f"# Title\n{line}\n", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(f"\0{MARK}:".encode())
    found = release.gaps(tmp_path, ["page.md", "picture.png", "deleted.md", ""])
    assert found == ([f"page.md:2 has a gap: {line}"] if seen else [])


def test_tutorials_of_other_code_are_refused(tmp_path: Path) -> None:
    root = tree(tmp_path)
    assert release.stale_tutorials(root) == []
    (root / "docs" / "tutorials").mkdir(parents=True)
    (root / "docs" / "notebooks.py").write_bytes((ROOT / "docs" / "notebooks.py").read_bytes())
    empty = '{"cells": [], "metadata": {}}'
    (root / "docs" / "tutorials" / "one.ipynb").write_text(empty, encoding="utf-8")
    (found,) = release.stale_tutorials(root)
    assert "one.ipynb was run before its code and the package changed" in found


@pytest.mark.parametrize(
    "name",
    [
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "CITATION.cff",
        "paper/paper.md",
        "pyproject.toml",
    ],
)
def test_what_only_people_can_say_is_marked(name: str) -> None:
    """Until they have said it: then take the file out of this list."""
    if (ROOT / name).exists():
        assert release.gaps(ROOT, [name]) != []


@pytest.mark.slow
@pytest.mark.processes
def test_a_working_tree_with_changes_is_refused(tmp_path: Path) -> None:
    root = committed(tree(tmp_path))
    assert release.changes(root) == []
    (root / "new.txt").write_text("x", encoding="utf-8")
    (root / "CITATION.cff").write_text("version: 0.2.0\n", encoding="utf-8")
    found = release.changes(root)
    assert len(found) == 2
    assert "CITATION.cff" in found[0]
    assert "new.txt" in found[1]


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(
    ("words", "printed"),
    [
        ([], "refused: CHANGELOG.md still has lines"),
        (["--tagged", "v0.3.0"], "refused: the tag is v0.3.0, and the version 0.2.0"),
    ],
)
def test_a_refusal_comes_before_anything_is_built(
    tmp_path: Path,
    words: list[str],
    printed: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changelog = READY["CHANGELOG.md"].replace("[Unreleased]\n", "[Unreleased]\n\n- Not yet.\n")
    root = committed(tree(tmp_path, CHANGELOG=changelog))
    monkeypatch.setattr(release, "build_and_install", pytest.fail)
    monkeypatch.setattr(release, "run", pytest.fail)
    with pytest.raises(SystemExit, match="1"):
        release.main(words, root)
    assert printed in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="`.ci/run` is a script of a shell")
@pytest.mark.slow
@pytest.mark.processes
def test_a_failing_stage_ends_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stages = tmp_path / ".ci" / "run"
    stages.parent.mkdir()
    stages.write_text("#!/bin/sh\necho stages: $*\nexit 1\n", encoding="utf-8")
    stages.chmod(0o755)
    root = committed(tree(tmp_path))
    monkeypatch.setattr(release, "build_and_install", pytest.fail)
    for words in ([], ["--dry-run", "--stages", "lint"]):
        with pytest.raises(SystemExit, match=r"refused: .*run.* failed"):
            release.main(words, root)
    assert capfd.readouterr().out.splitlines()[1::2] == ["stages:", "stages: lint"]


@pytest.mark.slow
@pytest.mark.processes
def test_a_dry_run_lists_refusals_and_makes_no_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = committed(tree(tmp_path, recipe=f"# {MARK}: who\n"))
    built = []
    monkeypatch.setattr(release, "build_and_install", lambda *given: built.append(given))
    release.main(["--dry-run", "--stages"], root)
    printed = capsys.readouterr().out
    assert printed.count("would be refused:") == 2
    assert "2 things are in the way" in printed
    assert built == [(root, "0.2.0")]
    assert release.git(root, "tag") == ""


@pytest.mark.skipif(os.name == "nt", reason="`.ci/run` is a script of a shell")
@pytest.mark.slow
@pytest.mark.processes
def test_a_release_ends_with_its_tag_which_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stages = tmp_path / ".ci" / "run"
    stages.parent.mkdir()
    stages.write_text("#!/bin/sh\n", encoding="utf-8")
    stages.chmod(0o755)
    root = committed(tree(tmp_path))
    built = []
    monkeypatch.setattr(release, "build_and_install", lambda *given: built.append(given))
    monkeypatch.setenv("GIT_COMMITTER_NAME", "A")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "a@example.org")
    release.main([], root)
    assert release.git(root, "tag") == "v0.2.0\n"
    with pytest.raises(SystemExit, match="1"):
        release.main([], root)
    assert "refused: the tag v0.2.0 exists already" in capsys.readouterr().out
    release.main(["--tagged", "v0.2.0"], root)
    assert built == [(root, "0.2.0")] * 2


def test_stages_are_chosen_in_a_dry_run_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        release.main(["--stages", "lint"], ROOT)
    assert "--stages needs --dry-run" in capsys.readouterr().err


def test_groups_are_expanded_in_order() -> None:
    groups = {"a": ["x>=1", {"include-group": "b"}, "z"], "b": ["y"]}
    assert group.requirements(groups, "a") == ["x>=1", "y", "z"]
    with pytest.raises(SystemExit, match="no dependency group 'c'; it has a, b"):
        group.requirements(groups, "c")


def test_groups_ask_for_extras_that_exist() -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    for name in PYPROJECT["dependency-groups"]:
        for item in group.requirements(PYPROJECT["dependency-groups"], name):
            own = re.fullmatch(r"polystein\[(.*)\]", item)
            assert own is None or set(own[1].split(",")) <= set(extras)
    assert "test" in extras
    assert set(extras) & set(PYPROJECT["dependency-groups"]) == set()


def test_the_recipe_requires_what_the_package_does() -> None:
    recipe = (ROOT / "conda" / "recipe.yaml").read_text("utf-8")
    found = re.findall(r"^    - (\S+ >=\S+)$", recipe.partition("  run:\n")[2], re.M)
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    assert extras["cli"][0] == "polystein[html]"
    needed = [*project["dependencies"], *extras["html"], *extras["cli"][1:]]
    renamed = [item.replace("matplotlib>=", "matplotlib-base>=") for item in needed]
    expected = [f"python{project['requires-python']}", *renamed]
    assert found == [item.replace(">=", " >=") for item in expected]


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_their_actions_and_use_the_pythons_that_are_supported(path: Path) -> None:
    text = path.read_text("utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    assert [one for one in uses if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[0-9.]+", one)] == []
    classifiers = "\n".join(PYPROJECT["project"]["classifiers"])
    assert set(re.findall(r"\b3\.\d+\b", text)) == set(
        re.findall(r"Python :: (3\.\d+)", classifiers)
    )


def test_workflows_run_stages_that_exist() -> None:
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8")
    listed = text.partition("        stages:\n")[2].partition("    steps:")[0]
    named = listed.replace("- ", " ").split()
    (stages,) = re.findall(
        r"^all_stages=\((.*)\)$", (ROOT / ".ci" / "run").read_text("utf-8"), re.M
    )
    assert sorted(named) == sorted(stages.split())
