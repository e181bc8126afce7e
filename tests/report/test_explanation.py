"""What a result explains, part by part, in text."""

from tests.report.results import check_result


def test_parts_are_explained_beside_the_p_values_that_they_need() -> None:
    result = check_result()
    heading, *lines = str(result.explain()).splitlines()[1:]
    place = heading.index("needed") + len("needed")
    for row, line in zip(result.explain(), lines, strict=False):
        assert row.level_share is not None
        assert line[:place].endswith(f" {0.05 * row.level_share:.2g}")
