"""Effects in words."""

import pytest

from polystein.explain.sentences import correlation_sentence, not_judged, sentence


@pytest.mark.parametrize(
    ("what", "name", "numbers", "words"),
    [
        ("sd", ("tau",), (1.38, 1.32, 1.45), "the sd of `tau` is 38 % too large (32 to 45 %)"),
        ("sd", ("tau",), (0.5, 0.4, 0.6), "the sd of `tau` is 50 % too small (40 to 60 %)"),
        ("sd", ("tau",), (1.02, 0.99, 1.05), "the sd of `tau` is 2 % too large (-1 to 5 %)"),
        (
            "mean",
            ("theta[3]",),
            (-0.21, -0.3, -0.12),
            "the mean of `theta[3]` is 0.21 posterior sd too low (0.12 to 0.30)",
        ),
        (
            "skew",
            ("a",),
            (-0.7, -0.9, -0.5),
            "the skewness of `a` is 0.70 too low (0.50 to 0.90)",
        ),
        (
            "tail",
            ("a",),
            (1.0, 0.5, 1.5),
            "the tails of `a` are too heavy: its kurtosis is 1.00 too high (0.50 to 1.50)",
        ),
        (
            "direction sd",
            ("0.80 a - 0.60 b",),
            (1.38, 1.32, 1.45),
            "the sd along `0.80 a - 0.60 b` is 38 % too large (32 to 45 %)",
        ),
    ],
)
def test_sentences(
    what: str, name: tuple[str, ...], numbers: tuple[float, ...], words: str
) -> None:
    assert sentence(what, name, *numbers, reliability=1.0) == words


def test_an_interval_that_is_no_promise_says_so() -> None:
    words = sentence("mean", ("a",), 0.2, 0.1, 0.3, 0.819)
    assert words.endswith(", approximate (R2 0.81)")


def test_what_scores_cannot_tell() -> None:
    words = not_judged("correlation", ("a", "b"))
    assert words == "the correlation of `a` and `b` cannot be judged from the scores"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((-0.001, -0.284, -0.38, -0.18), "is 0.00, should be about -0.28 (-0.38 to -0.18)"),
        ((0.9993, 0.9981, 0.9978, 0.9983), "is 0.999, should be about 0.998 (0.998 to 0.998)"),
        ((0.9993, 0.9992, 0.9991, 0.9994), "is 0.9993, should be about 0.9992 (0.9991 to 0.9994)"),
    ],
)
def test_correlations_are_told_with_both_values(
    values: tuple[float, float, float, float], words: str
) -> None:
    told = correlation_sentence(("a", "b[0, 1]"), *values, 1.0)
    assert told == f"the correlation of `a` and `b[0, 1]` {words}"
    told = correlation_sentence(("a", "b[0, 1]"), *values, 0.93)
    assert told.endswith(f"{words}, approximate (R2 0.93)")
