"""What a report says about the importance ratios of a variational fit."""

from dataclasses import replace

import pytest

from polystein.report.result_page import result_page
from polystein.report.text import fit_words, render
from polystein.results.diagnostics import Diagnostics
from tests.report.results import check_result


@pytest.mark.parametrize(
    ("pareto_k", "words"),
    [
        (0.312, "0.31, at most 0.7: importance weights could correct the draws"),
        (0.91, "0.91, above 0.7: importance weights cannot repair these draws"),
    ],
)
def test_k_hat_is_told_where_it_is_known(pareto_k: float, words: str) -> None:
    result = replace(check_result(), diagnostics=None)
    assert fit_words(result) == ""
    result = replace(result, diagnostics=Diagnostics(pareto_k=pareto_k))
    words = f"Pareto k-hat {words}"
    assert fit_words(result) == str(result.diagnostics) == words
    assert f"\nFit        {words}\n" in f"{render(result)}\n"
    assert words in result_page(result)
