"""Names that are printed."""

import pytest

from polystein._lib.words import one_line


@pytest.mark.parametrize(
    ("name", "shown"),
    [("beta[0]", "beta[0]"), ("a\nb", "a\\nb"), ("\x1b[31m", "\\x1b[31m"), ("σ", "σ"), ("", "")],
)
def test_names_stay_on_one_line(name: str, shown: str) -> None:
    assert one_line(name) == shown
