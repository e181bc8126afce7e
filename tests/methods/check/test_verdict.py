"""What leaves the question open: numbers and abstentions turned into sentences."""

import math
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.data.sample import as_source
from polystein.inference.convergence import (
    MeansConvergence,
    RankedConvergence,
    ranked_convergence,
)
from polystein.methods.check import verdict
from polystein.methods.check.look import ThinnedRows
from polystein.methods.check.verdict import diagnosed, doubts, rank_suspects
from polystein.results.diagnostics import Convergence, Diagnostics, SamplerDiagnostics
from polystein.results.evidence import Abstention
from tests.conftest import Array
from tests.sources import MinimalSource
from tests.statistical.samplers import autoregressive

FLIPS = Abstention("sign flips", "fewer than eight batches of rows are independent")


def convergence(rhat: float = 1.01, ess: float = 400.0, names: tuple[str, ...] = ("a", "b")) -> Any:
    return Convergence(names, (1.0, rhat), (900.0, ess))


def diagnostics(**draws: float) -> Diagnostics:
    return Diagnostics(convergence(**draws), convergence())


def means(values: Array) -> MeansConvergence:
    """Numbers that leave nothing to doubt."""
    return MeansConvergence(np.ones(values.shape[2]), np.full(values.shape[2], 1e4))


# Sentences


def test_clean_diagnostics_leave_no_doubt() -> None:
    assert doubts(diagnostics()) == ()
    assert doubts(None) == ()
    assert doubts(diagnostics(rhat=1.05, ess=100.0)) == ()
    assert doubts(None, independent_rows=100) == ()


@pytest.mark.parametrize("rhat", [1.0501, 2.47, math.inf])
def test_a_large_rhat_is_a_doubt(rhat: float) -> None:
    (reason,) = doubts(diagnostics(rhat=rhat))
    assert f"R-hat is {rhat:.2f} for the draws of b, above 1.05. Run longer" in reason


@pytest.mark.parametrize("ess", [4.9, 99.9, math.nan])
def test_few_effective_draws_are_a_doubt(ess: float) -> None:
    only = Diagnostics(Convergence(("b",), (1.0,), (ess,)), convergence())
    (reason,) = doubts(only)
    assert f"{ess:.0f} for the draws of b, fewer than 100. Run the sampler longer" in reason


def test_scores_count_as_well_as_draws() -> None:
    (reason,) = doubts(Diagnostics(convergence(), convergence(rhat=1.2)))
    assert "1.20 for the scores of b" in reason
    both = doubts(Diagnostics(convergence(rhat=1.2, ess=9.0), convergence(rhat=1.2, ess=8.0)))
    assert len(both) == 2
    assert "R-hat is 1.20 for draws and scores of b, above" in both[0]
    assert "9 for the draws of b and 8 for the scores of b, fewer" in both[1]


def test_coordinates_that_never_change_are_named() -> None:
    names = ("a", "b", "c", "d", "e")
    still = Convergence(names, (1.0, *[math.nan] * 4), (500.0,) * 5)
    (reason,) = doubts(Diagnostics(still, Convergence(names, (1.0,) * 5, (500.0,) * 5)))
    assert "The draws of b, c, d, ... never change" in reason


def test_every_abstention_is_a_reason() -> None:
    other = Abstention("trained witnesses", "test rows would depend on training rows.")
    assert doubts(diagnostics(), (FLIPS, other)) == (
        "The sign flips did not judge: fewer than eight batches of rows are independent.",
        "The trained witnesses did not judge: test rows would depend on training rows.",
    )


@pytest.mark.parametrize(("divergences", "reasons"), [(None, 0), (4, 0), (5, 1), (4000, 1)])
def test_divergences(divergences: int | None, reasons: int) -> None:
    sampler = SamplerDiagnostics(4000, divergences, 4000)
    found = doubts(Diagnostics(convergence(), convergence(), sampler))
    assert len(found) == reasons
    assert all(f"{divergences} of 4000 draws diverged" in reason for reason in found)


def test_few_independent_rows() -> None:
    assert "60 independent draws are fewer than 100" in doubts(None, independent_rows=60.0)[0]


# What is ranked for a verdict


def chains(length: int = 2000) -> Array:
    return autoregressive(np.random.default_rng(0), 4, length, 3, 0.3)


def test_few_rows_are_ranked_whole() -> None:
    values = chains(400)
    found = diagnosed(ps.Sample(values, -values), means(values), means(values))
    assert found.draws.worst_known().ranked
    assert found.draws.rhat == ranked_convergence(values).rhat.max()
    assert found.sampler is None


def test_clean_chains_are_ranked_on_some_rows_alone() -> None:
    values = chains()
    found = diagnosed(ps.Sample(values, -values), means(values), means(values))
    assert found.draws.ranked.known == found.scores.ranked.known == {}
    assert doubts(found) == ()


@pytest.mark.parametrize("fault", ["one chain off", "tails stuck", "heavy tails"])
def test_what_means_do_not_show_is_found_by_ranks(fault: str) -> None:
    values = chains()
    if fault == "one chain off":
        values[2, :, 1] += 2.0
    elif fault == "tails stuck":
        values[2, :, 1] *= 4.0
    else:
        values[:, :, 1] = np.tan(1.5 * np.tanh(values[:, :, 1]))
        values[2, :, 1] += 4.0
    found = diagnosed(ps.Sample(values, -values), means(values), means(values))
    assert list(found.draws.ranked.known) == [1]
    assert found.draws.worst_known().rhat == ranked_convergence(values).rhat[1]
    assert any("of x[1]" in reason for reason in doubts(found))


def test_what_means_show_is_settled_by_ranks() -> None:
    values = chains()
    doubtful = MeansConvergence(np.array([1.0, 1.2, 1.0]), np.array([1e4, 1e4, 50.0]))
    found = diagnosed(ps.Sample(values, -values), doubtful, means(values))
    assert sorted(found.draws.ranked.known) == [1, 2]
    assert doubts(found) == ()


def test_every_suspect_is_ranked() -> None:
    """Two chains off in two coordinates, of which one is worse than the other in all respects."""
    values = autoregressive(np.random.default_rng(0), 4, 2000, 4, 0.3)
    values[2, :, 1] += 3.0
    values[1, :, 3] += 0.8
    found = diagnosed(ps.Sample(values, -values), means(values), means(values))
    expected = ranked_convergence(values)
    for convergence in (found.draws, found.scores):
        assert sorted(convergence.ranked.known) == [1, 3]
        for column in (1, 3):
            own = [float(part[column]) for part in expected]
            assert convergence.ranked.known[column] == pytest.approx(own, rel=1e-9)
    assert expected.rhat[1] > expected.rhat[3] > verdict.LARGEST_RHAT


@pytest.mark.parametrize("kind", ["rhat", "ess_bulk", "ess_tail", "rhat of means", "ess of means"])
def test_all_places_beyond_a_bound_are_suspects(kind: str) -> None:
    """One of the five numbers is beyond its bound at the places 1, 3 and 5."""
    beyond = np.array([-1e-9, 1e-9, np.nan, 5.0, 0.0, np.inf])
    names = ("rhat", "ess_bulk", "ess_tail", "rhat of means", "ess of means")
    numbers = {name: np.full(6, 1.0 if "rhat" in name else 1e4) for name in names}
    numbers[kind] = 1.03 + beyond if "rhat" in kind else 200.0 - beyond
    of_means = (tuple(numbers[name].tolist()) for name in names[3:])
    ranked = RankedConvergence(*(numbers[name] for name in names[:3]))
    assert verdict._suspects(Convergence(tuple("abcdef"), *of_means), ranked) == [1, 3, 5]


def test_rows_elsewhere_are_not_read_again() -> None:
    values = chains(400)
    rows = [(chain, -chain) for chain in values]
    source = as_source(MinimalSource(rows, time_ordered=True), None)
    given = MeansConvergence(np.array([1.0, 1.2, 1.0]), np.full(3, 1e4))
    found = diagnosed(source, given, means(values))
    assert found.draws.ranked.known == {}
    assert "1.20 for the draws of x[1]" in doubts(found)[0]


def lazily(values: Array) -> tuple[Any, ThinnedRows]:
    """Chains that are read on request, and those of their rows that are kept."""
    rows = [(chain, -chain) for chain in values]
    source = as_source(MinimalSource(rows, time_ordered=True), None)
    thinned = ThinnedRows(source.layout)
    run_pass(source, every_row(source), thinned)
    return source, thinned


def test_rows_elsewhere_are_ranked_on_those_that_were_kept() -> None:
    """The worse of ranks and means counts, coordinate by coordinate."""
    values = chains()
    values[2, :, 1] *= 4.0
    source, thinned = lazily(values)
    given = MeansConvergence(np.array([1.2, 1.0, 1.0]), np.array([1e4, 1e4, 50.0]))
    found = diagnosed(source, given, means(values), thinned)
    ranked = ranked_convergence(thinned.chains("draws"))
    assert ranked.rhat[1] > 1.05 > ranked.rhat[2]
    assert found.draws.rhat_of_means[0] == 1.2
    assert found.draws.rhat_of_means[1] == ranked.rhat[1]
    # Fewer rows have a smaller ESS: it counts only where it is too small.
    assert found.draws.ess_of_means[0] == 1e4
    assert found.draws.ess_of_means[1] == min(ranked.ess_bulk[1], ranked.ess_tail[1]) < 100.0
    assert found.draws.ess_of_means[2] == 50.0
    scores = ranked_convergence(thinned.chains("scores"))
    assert found.scores.rhat_of_means[1] == scores.rhat[1]
    assert found.draws.ranked.known == found.scores.ranked.known == {}
    # The worst coordinate is named.
    assert ranked.rhat[1] > 1.2
    assert f"R-hat is {ranked.rhat[1]:.2f} for draws and scores of x[1]" in doubts(found)[0]


def test_rows_in_memory_do_not_need_those_that_were_kept() -> None:
    values = chains(400)
    _, thinned = lazily(4.0 * np.roll(values, 100, axis=1))
    sample = ps.Sample(values, -values)
    plain = diagnosed(sample, means(values), means(values))
    found = diagnosed(sample, means(values), means(values), thinned)
    assert found.to_dict() == plain.to_dict()


def test_chains_of_which_too_few_rows_were_kept_are_judged_by_their_means() -> None:
    """Fewer than four rows of a chain cannot be ranked, and leave no doubt."""
    values = autoregressive(np.random.default_rng(0), 400, 20, 2, 0.0)
    source, thinned = lazily(values)
    found = diagnosed(source, means(values), means(values), thinned)
    assert found.draws.rhat_of_means == (1.0, 1.0)
    assert doubts(found) == ()


@pytest.mark.parametrize("count", [40, 200, 250])
def test_a_few_kept_rows_of_each_of_many_chains_leave_no_doubt(count: int) -> None:
    """R-hat of two rows a half chain is above 1.05 by chance."""
    for seed in range(3):
        values = np.random.default_rng(seed).standard_normal((count, 60, 10))
        source, thinned = lazily(values)
        found = diagnosed(source, means(values), means(values), thinned)
        assert doubts(found) == ()


def test_many_short_chains_are_ranked_whole() -> None:
    values = autoregressive(np.random.default_rng(0), 50, 60, 2, 0.0)
    found = Convergence.of(ps.Sample(values, -values), "draws", means(values))
    rank_suspects(found)
    assert len(found.ranked.known) == 2


def test_divergences_come_from_the_facts() -> None:
    values = chains(400)
    facts = {"sampler_statistics": {"diverging": np.ones((4, 400), dtype=bool)}}
    found = diagnosed(ps.Sample(values, -values, facts=facts), means(values), means(values))
    assert found.sampler == SamplerDiagnostics(1600, 1600, None)
    assert "diverged" in doubts(found)[0]


def test_the_bounds_are_those_that_the_documentation_names() -> None:
    assert (verdict.LARGEST_RHAT, verdict.LEAST_ESS) == (1.05, 100.0)
