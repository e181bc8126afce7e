"""The text of a result: its words, its order and its size."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polystein.errors import InputError
from polystein.report.text import meaning, moment, p_words, percent, rejected, render, verdict
from tests.report.results import bootstrap_result, z_result


def lines_from(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_str_of_a_result_is_the_text() -> None:
    assert str(z_result()) == render(z_result())


def test_text_says_what_was_tested_and_how_it_came_out() -> None:
    text = " ".join(render(z_result()).split())
    for words in (
        "lambda-PSD z-test, order 2, dimension 4",
        "evidence against it at the level 0.05: p = 0.012.",
        "about 1 in 100 tests",
        "z = 2.50 (two-sided)",
        "700 trained the test function, 300 tested it; 288 effective test draws",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [
        (0.06, "no evidence against it"),
        (0.05, "evidence against it"),
        (0.0005, "strong evidence against it"),
    ],
)
def test_verdict(pvalue: float, words: str) -> None:
    assert verdict(z_result(pvalue=pvalue)) == f"{words} at the level 0.05"


def test_a_level_changes_the_verdict() -> None:
    result = z_result(pvalue=0.02)
    assert rejected(result, 0.05)
    assert not rejected(result, 0.01)
    assert "no evidence against it at the level 0.01" in render(result, 0.01)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_a_level_outside_of_0_and_1_is_refused(alpha: float) -> None:
    with pytest.raises(InputError, match="`alpha` must be a level"):
        rejected(z_result(), alpha)


def test_what_is_not_rejected_is_not_called_right() -> None:
    words = meaning(z_result(pvalue=0.5))
    assert "This is no proof" in words
    assert "shows in no score test" in words


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [(1e-9, "fewer than 1 in 1,000,000"), (0.0023, "about 1 in 430"), (0.034, "about 3 in 100")],
)
def test_how_often_chance_would_do_it(pvalue: float, words: str) -> None:
    assert words in meaning(z_result(pvalue=pvalue))


@pytest.mark.parametrize(
    ("pvalue", "words"), [(0.0, "p < 0.0001"), (1e-4, "p = 0.0001"), (0.8765, "p = 0.88")]
)
def test_p_value(pvalue: float, words: str) -> None:
    assert p_words(pvalue) == words


def test_features_come_by_share_with_bars_of_their_length() -> None:
    rows = [line.split() for line in lines_from(render(z_result()), "x")]
    text = render(z_result())
    assert text.index("\nscore") < text.index("\nx  ") < text.index("\nx^2")
    assert [row[0] for row in rows] == ["x", "x^2"]
    # 22 columns are the whole: 0.625, 0.25 and -0.125 of them.
    assert lines_from(text, "score")[0].endswith("0.500     1.25    62 %  " + 14 * "#")
    assert lines_from(text, "x  ")[0].endswith("25 %  " + 6 * "#")
    assert lines_from(text, "x^2")[0].endswith("-12 %  " + 3 * "-")
    assert "pulled the statistic the other way" in text


def test_no_note_on_minus_signs_without_any() -> None:
    assert "other way" not in render(z_result(shares={"x": 0.999, "score": -0.001}))


def test_shares_have_no_sign_on_nothing() -> None:
    assert percent(-0.001) == "0 %"
    assert percent(math.nan) == ""


def test_moments_that_features_add() -> None:
    assert [moment(name) for name in ("score", "x", "x^3", "x^4", "x^12", "x^y", "other")] == [
        "1, location",
        "2, spread, correlation",
        "4, tails",
        "5",
        "13",
        "",
        "",
    ]


def test_components_without_shares_have_no_bars() -> None:
    text = render(z_result(settings={}))
    assert "#" not in text
    assert "nan" not in text


def test_a_bootstrap_result_has_no_features_and_no_z() -> None:
    text = render(bootstrap_result())
    assert "Feature" not in text
    assert "z =" not in text
    assert "nan" not in text
    assert "-1.5 (large values speak against the draws)" in text
    assert "all 1000 tested, none needed for training" in text


def test_rows_left_out_between_are_counted() -> None:
    assert "700 trained the test function, 20 left out between, 300" in render(z_result(n_gap=20))


def test_warnings_stand_at_the_end_and_are_announced() -> None:
    text = render(z_result(warnings=("too few draws",)))
    assert text.endswith("Warning: too few draws")
    assert "p = 0.012. Read the warnings.\n" in text
    assert "Read the warnings" not in render(z_result())


def test_a_long_warning_is_cut_with_a_pointer() -> None:
    text = render(z_result(warnings=("word " * 200,)))
    assert text.endswith("... (in full in `result.warnings`)")


@given(
    names=st.lists(st.text(min_size=1), unique=True, max_size=30),
    warnings=st.lists(st.text(max_size=500), max_size=6),
    pvalue=st.floats(0.0, 1.0),
    large=st.sampled_from([0, 5, 10**12]),
    method=st.text(max_size=120),
)
def test_the_text_fits_one_screen(
    names: list[str], warnings: list[str], pvalue: float, large: int, method: str
) -> None:
    result = z_result(
        pvalue=pvalue,
        shares={name: (-1.0) ** i / len(names) for i, name in enumerate(names)},
        warnings=tuple(warnings),
        method=method or "lambda-psd",
        statistic=1e9,
        n_train=large,
        n_gap=large,
        n_test=large,
        ess=float(large),
    )
    lines = render(result).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 88
