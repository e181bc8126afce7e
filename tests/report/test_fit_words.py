"""What a report says about the importance ratios of a variational fit."""

from dataclasses import replace

import pytest

from polystein.report.text import fit_words, render
from tests.report.results import check_result


@pytest.mark.parametrize(
    ("pareto_k", "words"),
    [
        (0.312, "Pareto k-hat 0.31: importance weights p/q are reliable (at most 0.7)"),
        (0.91, "Pareto k-hat 0.91: importance weights p/q fail (more than 0.7)"),
    ],
)
def test_k_hat_is_told_where_it_is_known(pareto_k: float, words: str) -> None:
    result = check_result()
    assert fit_words(result) == ""
    known = replace(result.evidence, estimates={"pareto_k": pareto_k})
    result = replace(result, evidence=known)
    assert fit_words(result) == words
    assert f"\nFit        {words}\n" in f"{render(result)}\n"
