"""The verdict: Fisher's test and Holm's correction against their literal definitions."""

import numpy as np
import pytest

from polystein.experiments.engine.cells import Row, number
from polystein.experiments.paper import published, verdict
from tests.reference.pooling import literal_fisher


def literal_holm(pvalues: list[float]) -> list[float]:
    """The smallest level at which the step-down procedure rejects each hypothesis."""
    adjusted = []
    for index in range(len(pvalues)):
        levels = np.linspace(0.0, 1.0, 10_001)
        rejecting = [level for level in levels if index in step_down(pvalues, level)]
        adjusted.append(min(rejecting, default=1.0))
    return adjusted


def step_down(pvalues: list[float], level: float) -> set[int]:
    rejected: set[int] = set()
    for rank, index in enumerate(sorted(range(len(pvalues)), key=pvalues.__getitem__)):
        if pvalues[index] > level / (len(pvalues) - rank):
            break
        rejected.add(index)
    return rejected


@pytest.mark.parametrize("seed", range(2))
def test_holm_is_the_step_down_procedure(seed: int) -> None:
    pvalues = (np.random.default_rng(seed).random(7) ** 3).tolist()
    assert verdict.holm(pvalues) == pytest.approx(literal_holm(pvalues), abs=1.1e-4)


def test_holm_of_ties_and_of_one() -> None:
    assert verdict.holm([0.02, 0.02]).tolist() == [0.04, 0.04]
    assert verdict.holm([0.3]).tolist() == [0.3]
    assert verdict.holm([0.9, 0.8]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "counts", [(5, 100, 20, 200), (98, 100, 176, 200), (0, 100, 9, 200), (100, 100, 200, 200)]
)
def test_fisher_is_the_exact_test(counts: tuple[int, int, int, int]) -> None:
    assert verdict.fisher(*counts) == pytest.approx(literal_fisher(*counts))


def published_as_rows(replicates: int, shift: int = 0) -> list[Row]:
    """A run that found just what was published, or `shift` rejections more everywhere."""
    return [
        {
            "sampler": cell.sampler,
            "n": cell.n,
            "d": cell.dimension,
            "method": cell.method,
            "order": cell.order,
            "replicates": replicates,
            "rejections": min(replicates, round(cell.rejection_rate * replicates) + shift),
        }
        for cell in published.experiment1()
    ]


def test_the_published_table_agrees_with_itself() -> None:
    found = verdict.agreements(verdict.compare_experiment1(published_as_rows(200)))
    assert [one.method for one in found] == [
        "psd", "lambda_psd", "ksd_imq", "ksd_gauss", "fssd_opt", "rfsd",
    ]  # fmt: skip
    assert [len(one.comparisons) for one in found] == [140, 140, 28, 28, 28, 28]
    for one in found:
        assert one.not_different == len(one.comparisons)
        assert one.uncorrected == 0
        assert one.mean_difference == pytest.approx(0.0, abs=1e-12)


def test_a_wrong_table_is_seen() -> None:
    rows = published_as_rows(200, shift=100)
    comparisons = verdict.compare_experiment1(rows)
    rfsd = next(one for one in verdict.agreements(comparisons) if one.method == "rfsd")
    low = [one for one in rfsd.comparisons if one.published < 50]
    assert len(low) > 5
    assert all(one.difference == pytest.approx(0.5) for one in low)
    assert rfsd.not_different <= 28 - len(low)
    assert rfsd.uncorrected >= len(low)
    text = verdict.agreement_section(comparisons)
    assert "Cells that differ significantly after Holm's correction" in text
    assert "- gaussian, d=2, RFSD (wild bootstrap): published" in text


def test_both_calibrations_are_compared_with_the_one_published_column() -> None:
    rows = [row for row in published_as_rows(200) if row["method"] == "rfsd"]
    twice = [*({**row, "method": "rfsd_published"} for row in rows), *rows]
    found = verdict.agreements(verdict.compare_experiment1(twice))
    assert [one.method for one in found] == ["rfsd_published", "rfsd"]
    assert [one.not_different for one in found] == [28, 28]
    row: Row = {
        "perturbation": 0.02, "n": 1000, "d": 50, "method": "rfsd_published", "order": None,
        "replicates": 200, "rejections": 56,
    }  # fmt: skip
    (one,) = verdict.compare_experiment2([row])
    assert (one.published, one.pvalue) == (56, 1.0)


def test_all_methods_are_added_up() -> None:
    rows = published_as_rows(200, shift=100)
    comparisons = verdict.compare_experiment1(rows)
    found = verdict.agreements(comparisons)
    alike = sum(one.not_different for one in found)
    uncorrected = sum(one.uncorrected for one in found)
    mean = np.mean([one.difference for one in comparisons])
    line = (
        f"| All | 392 | 200 | {alike} ({alike / 392:.1%}) | "
        f"{uncorrected} ({uncorrected / 392:.1%}) | {mean:+.3f} | "
    )
    assert line in verdict.agreement_section(comparisons)


def comparison(pvalue: float, difference: float = 0.0) -> verdict.Comparison:
    measured = round(1000 * (0.5 + difference))
    return verdict.Comparison("here", "there", "psd", 1, 50, 100, measured, 1000, pvalue)


@pytest.mark.parametrize(
    ("pvalues", "difference", "expected"),
    [
        # 2 of 100 cells differ after Holm, 8 of 100 before, all rates by 0.02: just enough.
        ([1e-9] * 2 + [0.04] * 6 + [1.0] * 92, 0.02, [True, True, True]),
        ([1e-9] * 3 + [0.04] * 5 + [1.0] * 92, -0.02, [False, True, True]),
        ([1e-9] * 2 + [0.04] * 7 + [1.0] * 91, 0.0, [True, False, True]),
        ([1.0] * 100, -0.021, [True, True, False]),
    ],
)
def test_criteria_hold_up_to_their_bounds(
    pvalues: list[float], difference: float, expected: list[bool]
) -> None:
    cells = [comparison(pvalue, difference) for pvalue in pvalues]
    (one,) = verdict.agreements(cells)
    assert list(one.criteria.values()) == expected
    answers = ["yes" if met else "no" for met in expected]
    assert (
        f"- PSD: at least 98 % not significantly different after Holm: {answers[0]}; at most 8 % "
        f"uncorrected p < 0.05: {answers[1]}; mean signed difference within 0.02: {answers[2]}"
    ) in verdict.agreement_section(cells)


def test_criteria_are_for_the_exact_methods() -> None:
    text = verdict.agreement_section(verdict.compare_experiment1(published_as_rows(200)))
    judged = [line.split(":")[0] for line in text.splitlines() if "at least 98 %" in line]
    assert judged == ["- PSD", "- λ-PSD, as printed", "- IMQ KSD", "- Gauss KSD"]


def test_a_p_value_at_the_level_rejects() -> None:
    (one,) = verdict.agreements([comparison(0.05)])
    assert one.not_different == 0
    assert "- here, PSD (Q=1): published" in verdict.agreement_section([comparison(0.05)])


def test_signed_differences_keep_their_sign() -> None:
    row: Row = {
        "perturbation": 0.02, "n": 1000, "d": 50, "method": "psd", "order": 0,
        "replicates": 100, "rejections": 33,
    }  # fmt: skip
    (one,) = verdict.compare_experiment2([row])
    assert (one.published, one.published_replicates) == (46, 200)
    assert one.difference == pytest.approx(0.33 - 0.23)
    assert verdict.agreements([one])[0].mean_difference == pytest.approx(0.10)
    assert (
        "| PSD | 1 | 100 | 1 (100.0%) | 0 (0.0%) | +0.100 | 0.165 to 0.165 |"
        in verdict.agreement_section([one])
    )


def test_each_method_and_order_is_pooled_for_every_sampler_and_over_all() -> None:
    comparisons = verdict.compare_experiment1(published_as_rows(200))
    found = verdict.pooled_tests(comparisons)
    assert len(found) == (5 + 5 + 4) * 5
    assert found["lambda_psd", 4, "laplace"].cells == 7
    assert found["lambda_psd", 4, "all"].cells == 28
    assert all(one.difference == pytest.approx(0.0, abs=1e-12) for one in found.values())
    text = verdict.pooled_section(comparisons)
    assert (
        "| Method | student_t | laplace | gaussian | perturbed | all | Detectable (all) |" in text
    )
    assert "None of the 60 poolings of PSD, λ-PSD, as printed, IMQ KSD, Gauss KSD differs" in text


def test_a_common_shift_that_no_cell_shows_is_seen_by_the_poolings() -> None:
    rows = [row for row in published_as_rows(200, shift=11) if row["method"] == "psd"]
    comparisons = verdict.compare_experiment1(rows)
    (cells,) = verdict.agreements(comparisons)
    assert cells.not_different == 140
    text = verdict.pooled_section(comparisons)
    assert "differ significantly after Holm's correction over the poolings of each" in text
    assert "PSD (Q=0), all (Holm p = " in text


def test_the_smallest_p_value_of_the_poolings_is_shown_with_its_correction() -> None:
    rows = [row for row in published_as_rows(200) if row["method"] == "psd"]
    shifted = [
        {**row, "rejections": min(int(number(row, "rejections")) + 12, 200)}
        if (row["sampler"], row["order"]) == ("laplace", 2)
        else row
        for row in rows
    ]
    comparisons = verdict.compare_experiment1(shifted)
    found = verdict.pooled_tests(comparisons)
    one = found["psd", 2, "laplace"]
    assert one.pvalue == min(other.pvalue for other in found.values())
    assert (
        f"- PSD, 25 poolings: smallest p-value {one.pvalue:.2g}, and {25 * one.pvalue:.2g} after "
        f"Holm (PSD (Q=2), laplace: {one.difference:+.3f})"
    ) in verdict.pooled_section(comparisons)


def test_causes_are_named() -> None:
    causes = verdict.known_causes()
    for word in ("standard deviation", "100 elites", "with scale 1", "on purpose", "skewed"):
        assert word in causes
