"""Libraries that are missing, and libraries that are installed but broken."""

from pathlib import Path

import pytest

from polystein._lib.imports import imported
from polystein.errors import MissingExtraError


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library that can be imported; its only module may be written again."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_module_that_is_there_is_given() -> None:
    assert imported("json.decoder", "scale").JSONDecodeError


@pytest.mark.parametrize("module", ["no_such_library", "no_such_library.part"])
def test_a_missing_library_is_named_with_its_extra(module: str) -> None:
    wanted = r"reading needs no_such_library: pip install 'polystein\[scale\]'"
    with pytest.raises(MissingExtraError, match=wanted):
        imported(module, "scale", "reading")
    with pytest.raises(MissingExtraError, match=r"needs no_such_library: pip install no_such"):
        imported(module, None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("import no_such_dependency", "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("from json import nothing", "ImportError: cannot import name 'nothing' from 'json'"),
        ("raise AttributeError('_ARRAY_API not found')", "AttributeError: _ARRAY_API not found"),
    ],
)
def test_a_library_that_fails_when_it_is_imported_is_not_called_missing(
    library: Path, content: str, reason: str
) -> None:
    (library / "broken_library.py").write_text(content, encoding="utf-8")
    with pytest.raises(MissingExtraError) as caught:
        imported("broken_library", "scale", "reading")
    start = "reading needs broken_library, which is installed but cannot be imported: "
    assert str(caught.value).startswith(start + reason)
    assert "pip install" not in str(caught.value)


def test_a_library_without_a_part_is_not_called_missing(library: Path) -> None:
    (library / "partial_library").mkdir()
    (library / "partial_library" / "__init__.py").touch()
    with pytest.raises(MissingExtraError, match="which is installed but cannot be imported"):
        imported("partial_library.part", "scale")
