"""The appendix: its grid."""

from polystein.experiments.paper import appendix


def test_the_grid_is_the_papers() -> None:
    assert [cell["d"] for cell in appendix.cells(1)] == [16] * 4
