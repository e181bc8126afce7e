"""Pages that cannot be written: an error that names the argument, and no file left behind."""

import os
from pathlib import Path

import numpy as np
import pytest

import polystein as ps
from polystein.errors import InputError


@pytest.mark.parametrize(
    "path", ["", ".", "folder", "missing/page.html", "loop.html", "a" * 300 + ".html"]
)
def test_a_place_that_cannot_be_written_to_is_named(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    (here / "folder").mkdir(parents=True)
    monkeypatch.chdir(here)
    Path("loop.html").symlink_to("loop.html")
    draws = np.random.default_rng(0).standard_normal((100, 2))
    result = ps.lambda_psd_test(draws, -draws, order=2, rng=0)
    with pytest.raises(InputError, match="`path` must be") as caught:
        result.to_html(path)
    assert ".tmp" not in str(caught.value)
    assert sorted(os.listdir()) == ["folder", "loop.html"]
    assert os.listdir(tmp_path) == ["here"]
