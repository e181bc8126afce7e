"""Test, build, check and install a release, and refuse it where something is missing.

Usage: release.py                           on a clean clone: everything, then the tag v<version>
       release.py --dry-run                 the same without a tag; refusals are listed, no more
       release.py --dry-run --stages lint   with these stages of .ci/run only; none without a name
       release.py --tagged v0.2.0           where the tag exists already, as in publish.yml

Refused are a working tree with changes, a changelog without the version's lines, files that
disagree about version or date, a date in the future, tutorials with stored outputs of other code,
statements that only the maintainers can make and have not made (see GAP), and any stage of
`.ci/run` that fails. Then wheel and sdist are built, checked by twine, and each is installed with
every supported Python that is found, in a fresh environment, with a part of its tests. They are
left in dist/. Nothing is uploaded: the workflow publish.yml does that.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

#: How a gap is marked: in an address, or before the words that say what is missing.
GAP = re.compile(r"RELEASE-GAP(?:\.invalid|:)")
#: Tests of an installed distribution: the package as a whole, the examples, and some mathematics.
INSTALLED_TESTS = ("tests/test_package.py", "tests/test_readme.py", "tests/stein")


def run(*command: str | Path, cwd: Path) -> None:
    """Show a command and run it; what fails ends the script."""
    print("+", *command, flush=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if subprocess.run([str(word) for word in command], cwd=cwd, env=environment).returncode:
        sys.exit(f"refused: {' '.join(str(word) for word in command)} failed")


def git(root: Path, *words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def stated_version(root: Path) -> str:
    """The version, from the one place that states it."""
    text = (root / "src/polystein/_version.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    return str(version)


def changes(root: Path) -> list[str]:
    """Files that are not as they were committed, or are not committed at all."""
    return [
        f"the working tree has changes: {line}"
        for line in git(root, "status", "--porcelain").splitlines()
    ]


def gaps(root: Path, names: Sequence[str]) -> list[str]:
    """Marked gaps in these files: addresses and statements that only people can give."""
    found = []
    for name in names:
        path = root / name
        # A picture has no gaps that can be read.
        if not path.is_file() or b"\0" in (content := path.read_bytes()):
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
            if GAP.search(line):
                found.append(f"{name}:{number} has a gap: {line.strip()}")
    return found


def disagreements(root: Path, version: str) -> list[str]:
    """What the changelog, the citation and the recipe lack of this version."""
    found = []
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## \[(.*?)\](.*?)(?=^## |\Z)", changelog, re.M | re.S))
    if re.search(r"^- ", sections.get("Unreleased", ""), re.M):
        found.append("CHANGELOG.md still has lines under [Unreleased]")
    section = sections.get(version, "")
    date = re.match(r" - (\d{4}-\d\d-\d\d)\n", section)
    if date is None:
        found.append(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    elif not re.search(r"^- ", section, re.M):
        found.append(f"CHANGELOG.md has no lines under [{version}]")
    if date and not is_past(date[1]):
        found.append(f"CHANGELOG.md has the date {date[1]}, which is in the future or no date")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if not re.search(rf'^version: "?{re.escape(version)}"?$', citation, re.M):
        found.append(f"CITATION.cff does not have 'version: {version}'")
    if date and not re.search(rf'^date-released: "?{date[1]}"?$', citation, re.M):
        found.append(f"CITATION.cff does not have 'date-released: {date[1]}', the changelog's date")
    recipe = (root / "conda/recipe.yaml").read_text(encoding="utf-8")
    if not re.search(rf'^  version: "{re.escape(version)}"$', recipe, re.M):
        found.append(f"conda/recipe.yaml does not have 'version: \"{version}\"'")
    return found


def is_past(text: str) -> bool:
    """Whether this is a date that has come, somewhere on Earth."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return day <= datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=14))).date()


def stale_tutorials(root: Path) -> list[str]:
    """Tutorials whose stored outputs come from other code than that of the release."""
    path = root / "docs/notebooks.py"
    if not path.exists():
        return []
    spec = importlib.util.spec_from_file_location("notebooks", path)
    assert spec is not None
    assert spec.loader is not None
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    return [str(one) for one in notebooks.stale()]


def interpreters(root: Path) -> dict[str, Path]:
    """Interpreters of the Pythons in the classifiers: on the PATH, or among those of pyenv."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for name in names:
        on_path = shutil.which(f"python{name}")
        candidates = [Path(on_path)] if on_path else []
        for candidate in [*candidates, *kept.glob(f"{name}.*/bin/python")]:
            works = subprocess.run([candidate, "-c", "import venv"], capture_output=True)
            if works.returncode == 0:
                found[name] = candidate
                break
        else:
            print(f"Python {name} was not found: nothing is installed with it")
    return found


def build(root: Path, scratch: Path) -> list[Path]:
    """Wheel and sdist, built in environments of their own and checked by twine."""
    requirements = scratch / "release.txt"
    listed = subprocess.check_output([sys.executable, root / ".ci/group.py", "release"], text=True)
    requirements.write_text(listed, encoding="utf-8")
    run(sys.executable, "-m", "venv", scratch / "tools", cwd=root)
    python = scratch / "tools/bin/python"
    run(python, "-m", "pip", "install", "-q", "-r", requirements, cwd=root)
    run(python, "-m", "build", "-q", "--outdir", scratch / "dist", root, cwd=root)
    built = sorted((scratch / "dist").iterdir())
    run(python, "-m", "twine", "check", "--strict", *built, cwd=root)
    return built


def install(distribution: Path, interpreter: Path, tests: Path, home: Path, version: str) -> None:
    """A fresh environment with a distribution, which must pass a part of the tests."""
    run(interpreter, "-m", "venv", home, cwd=tests)
    python = home / "bin/python"
    run(python, "-m", "pip", "install", "-q", f"{distribution}[test]", cwd=tests)
    run(python, "-m", "pip", "check", cwd=tests)
    code = f"import polystein; assert polystein.__version__ == {version!r}, polystein.__file__"
    run(python, "-c", code, cwd=tests)
    run(home / "bin/polystein", "--version", cwd=tests)
    run(python, "-m", "pytest", "-q", *INSTALLED_TESTS, cwd=tests)


def build_and_install(root: Path, version: str) -> None:
    """Wheel and sdist in dist/, after both were installed and tested with every Python."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        built = build(root, scratch)
        (sdist,) = [path for path in built if path.name.endswith(".tar.gz")]
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        # Without the sources beside them the tests can only see what is installed.
        tests = scratch / sdist.name.removesuffix(".tar.gz")
        shutil.rmtree(tests / "src")
        for name, interpreter in interpreters(root).items():
            for path in built:
                kind = "wheel" if path.suffix == ".whl" else "sdist"
                install(path, interpreter, tests, scratch / f"python{name}-{kind}", version)
        (root / "dist").mkdir(exist_ok=True)
        for path in built:
            shutil.copy(path, root / "dist" / path.name)
            print("dist/" + path.name, "sha256", hashlib.sha256(path.read_bytes()).hexdigest())


def main(words: Sequence[str], root: Path) -> None:
    """Go the whole way to a release, or as far as the options say."""
    parser = argparse.ArgumentParser(description="Test, build, check and install a release.")
    parser.add_argument("--dry-run", action="store_true", help="list refusals, and make no tag")
    parser.add_argument(
        "--stages", nargs="*", help="stages of .ci/run, in a dry run; all if absent"
    )
    parser.add_argument("--tagged", metavar="TAG", help="the tag that this commit has already")
    options = parser.parse_args(words)
    if options.stages is not None and not options.dry_run:
        parser.error("--stages needs --dry-run: a release passes all of them")
    version = stated_version(root)
    refusals = [*changes(root), *disagreements(root, version), *stale_tutorials(root)]
    refusals += gaps(root, git(root, "ls-files", "-z").split("\0"))
    if options.tagged not in (None, f"v{version}"):
        refusals.append(f"the tag is {options.tagged}, and the version {version}")
    if options.tagged is None and git(root, "tag", "--list", f"v{version}"):
        refusals.append(f"the tag v{version} exists already")
    for refusal in refusals:
        print("would be refused:" if options.dry_run else "refused:", refusal)
    if refusals and not options.dry_run:
        sys.exit(1)
    if options.stages is None or options.stages:
        run(root / ".ci/run", *(options.stages or []), cwd=root)
    build_and_install(root, version)
    if options.dry_run:
        print(f"dry run of {version} passed; {len(refusals)} things are in the way of a release")
    elif options.tagged is None:
        run("git", "tag", "-a", f"v{version}", "-m", f"polystein {version}", cwd=root)
        print(f"push the tag v{version} to publish it")


if __name__ == "__main__":
    main(sys.argv[1:], Path(__file__).resolve().parent.parent)
