"""What leaves the question open: numbers and abstentions turned into sentences."""

import math
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.passes import every_row, run_pass
from polystein.data.sample import as_source
from polystein.inference.convergence import ranked_convergence
from polystein.inference.convergence_of_means import MeansConvergence
from polystein.methods.check import verdict
from polystein.methods.check.left_out import ChainConvergence, RankedRows, ranked_rows
from polystein.methods.check.look import rows_to_rank
from polystein.methods.check.verdict import diagnosed, doubts, stays_with_heavy_tail
from polystein.results.diagnostics import Convergence, Diagnostics
from polystein.results.evidence import Abstention
from polystein.results.sampler import SamplerDiagnostics
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


# What a verdict rests on


def chains(length: int = 2000) -> Array:
    return autoregressive(np.random.default_rng(0), 4, length, 3, 0.3)


def ranked_of(values: Array, **options: Any) -> RankedRows:
    """The convergence by ranks of spaced rows, of chains that are read on request."""
    rows = [(chain, -chain) for chain in values]
    source = as_source(MinimalSource(rows, time_ordered=True), None)
    kept = rows_to_rank(source.layout)
    run_pass(source, every_row(source), kept, **options)
    return ranked_rows(kept)


def found(values: Array, of_draws: MeansConvergence | None = None) -> Diagnostics:
    given = ChainConvergence(of_draws or means(values), means(values))
    return diagnosed(ps.Sample(values, -values), given, ranked_of(values))


@pytest.mark.parametrize(("length", "step"), [(400, 1), (2000, 8), (99, 1)])
@pytest.mark.parametrize("most", [7, None])
def test_rows_to_rank_are_every_kth_row(length: int, step: int, most: int | None) -> None:
    values = chains(length)
    draws, scores, rows = ranked_of(values, most=most)
    assert rows == values[:, ::step, 0].size
    expected = ranked_convergence(values[:, ::step])
    np.testing.assert_allclose(draws, expected, rtol=1e-9)
    np.testing.assert_allclose(scores.ess_folded, expected.ess_folded, rtol=1e-9)


def test_rows_to_rank_merge_in_any_order() -> None:
    values = chains(300)
    sample = ps.Sample(values, -values)
    first, second = rows_to_rank(sample.layout), rows_to_rank(sample.layout)
    rows = list(every_row(sample))
    run_pass(sample, rows[2:], first)
    run_pass(sample, rows[:2], second)
    np.testing.assert_array_equal(
        ranked_rows(first.merge(second)).draws, ranked_convergence(values)
    )


def test_clean_chains_are_not_ranked_whole() -> None:
    diagnostics = found(chains())
    assert diagnostics.draws.ranked.known == diagnostics.scores.ranked.known == {}
    assert diagnostics.draws.ess_of_means == (1e4,) * 3
    assert doubts(diagnostics) == ()


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
    diagnostics = found(values)
    assert diagnostics.draws.rhat_of_means[1] == ranked_convergence(values[:, ::8]).rhat[1] > 1.05
    assert diagnostics.draws.rhat_of_means[0] == 1.0
    assert any("of x[1]" in reason for reason in doubts(diagnostics))


def test_what_means_show_is_settled_by_ranks() -> None:
    values = chains()
    doubtful = MeansConvergence(np.array([1.0, 1.2, 1.0]), np.array([1e4, 1e4, 50.0]))
    assert doubts(found(values, doubtful)) == ()


def test_a_scale_that_moves_slowly_is_a_doubt() -> None:
    """Signs are as good as independent, and distances from the median are not."""
    rng = np.random.default_rng(1)
    scale = np.exp(autoregressive(rng, 4, 2000, 1, 0.998))
    values = scale * rng.standard_normal((4, 2000, 1))
    ranked = ranked_of(values)
    assert ranked[0].ess_folded[0] < 100.0 < ranked[0].ess_bulk[0]
    assert ranked.slow_scales().tolist() == [True]
    assert any("Too few effective draws" in reason for reason in doubts(found(values)))
    white = rng.standard_normal((4, 2000, 1))
    assert ranked_of(white).slow_scales().tolist() == [False]


@pytest.mark.parametrize("shape", [(2, 40, 2), (1, 80, 3)])
def test_short_chains_have_no_slow_scale_and_are_judged(shape: tuple[int, ...]) -> None:
    """Eighty rows are worth fewer than a hundred, however fast they move."""
    values = np.random.default_rng(0).standard_normal(shape)
    assert not ranked_of(values).slow_scales().any()
    assert ps.check(values + 1.0, -values - 1.0).verdict == "rejected"


def test_chains_of_fewer_than_four_rows_are_judged_by_their_means() -> None:
    values = autoregressive(np.random.default_rng(0), 400, 3, 2, 0.0)
    diagnostics = found(values)
    assert diagnostics.draws.rhat_of_means == (1.0, 1.0)
    assert doubts(diagnostics) == ()


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
def test_verdicts_are_the_same_in_memory_and_elsewhere() -> None:
    """With reasons and effective draws; 24 short chains near the bounds."""
    for seed in range(24):
        rng = np.random.default_rng(seed)
        memory, length = rng.choice([0.5, 0.8, 0.9]), int(rng.choice([60, 200, 400]))
        values = autoregressive(rng, 4, length, 2, memory)
        rows = [(chain, -chain) for chain in values]
        here = ps.check(values, -values)
        there = ps.check(MinimalSource(rows, time_ordered=True))
        assert (here.verdict, here.reasons) == (there.verdict, there.reasons)
        assert here.ess == pytest.approx(there.ess, rel=1e-9)


def test_single_statistics_leave_nothing_open_where_chains_have_converged() -> None:
    part = Abstention("sign flips of location", "the chains are worth few rows")
    assert doubts(diagnostics(rhat=1.01, ess=400.0), [part]) == ()
    assert len(doubts(diagnostics(rhat=1.03, ess=400.0), [part])) == 1
    assert len(doubts(diagnostics(rhat=1.01, ess=150.0), [part])) == 1
    assert len(doubts(diagnostics(), [FLIPS])) == 1


def test_divergences_come_from_the_facts() -> None:
    values = chains(400)
    facts = {"sampler_statistics": {"diverging": np.ones((4, 400), dtype=bool)}}
    sample = ps.Sample(values, -values, facts=facts)
    found = diagnosed(sample, ChainConvergence(means(values), means(values)), None)
    assert found.sampler == SamplerDiagnostics(1600, 1600, None)
    assert "diverged" in doubts(found)[0]


def test_the_bounds_are_those_that_the_documentation_names() -> None:
    assert (verdict.RHAT_OPEN, verdict.ESS_OPEN) == (1.05, 100.0)


@pytest.mark.parametrize("acceptance", [0.05, 0.3, 0.8])
def test_geometric_stays_can_be_judged(acceptance: float) -> None:
    # Of 40 sets of stays at most a few look heavy by chance.
    rng = np.random.default_rng(1)
    found = [stays_with_heavy_tail(rng.geometric(acceptance, 800)) for _ in range(40)]
    assert sum(one is not None for one in found) <= 4


def test_stays_with_a_heavy_tail_cannot() -> None:
    rng = np.random.default_rng(2)
    stays = np.ceil(rng.pareto(2.0, 2000)).astype(np.intp) + 1
    reason = stays_with_heavy_tail(stays)
    assert reason is not None
    assert f"up to {stays.max()} rows" in reason
    # Long stays of one length have no tail: batches that are longer hold many of them.
    assert stays_with_heavy_tail(np.repeat([1, 51], [3000, 20])) is None
    assert stays_with_heavy_tail(np.ones(0, dtype=np.intp)) is None


def test_chains_that_get_stuck_are_not_judged() -> None:
    rng = np.random.default_rng(3)
    lengths = np.ceil(rng.pareto(1.5, (4, 2000))).astype(np.intp)
    draws = np.stack(
        [np.repeat(rng.standard_normal((2000, 2)), own, axis=0)[:1500] for own in lengths]
    )
    with pytest.warns(ps.LowESSWarning, match="left x"):
        result = ps.check(draws + 1.0, lambda x: -x)
    assert (result.verdict, result.pvalue, result.evidence.arms) == ("inconclusive", 1.0, ())
    assert sum("The chains get stuck" in reason for reason in result.reasons) == 1


# A few absurd scores


def absurd(rows: dict[tuple[int, ...], float], shape: tuple[int, ...]) -> ps.GofResult:
    """`check` of draws that are 1.3 times too wide, with some scores of the second coordinate."""
    draws = 1.3 * np.random.default_rng(3).standard_normal(shape)
    scores = -draws
    for row, size in rows.items():
        scores[row][1] = size
    return ps.check(draws, scores, iid=len(shape) == 2)


@pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")
@pytest.mark.parametrize(
    ("rows", "shape", "words"),
    [
        ({(7,): 90.0}, (1000, 2), "One draw outweighs all others: row 7 holds 83 %"),
        ({(7,): 1e6, (555,): -1e6}, (1000, 2), "row 7 and row 555 hold 100 %"),
        ({(3, 17): 1e9}, (40, 20, 2), "One draw outweighs all others: row 17 of chain 3 holds"),
        ({(2, row): 1e9 for row in range(133, 139)}, (4, 500, 2), "rows 132 to 139 of chain 2"),
    ],
)
def test_absurd_scores_are_named(
    rows: dict[tuple[int, ...], float], shape: tuple[int, ...], words: str
) -> None:
    (reason,) = (one for one in absurd(rows, shape).reasons if one.code == "dominant-draws")
    assert words in reason
    assert reason.parameter == "x[1]"


def test_large_scores_that_others_match_are_no_reason() -> None:
    """Eight batches have enough patterns of signs, whatever the others hold."""
    rows: dict[tuple[int, ...], float] = {(100 * row,): 90.0 for row in range(8)}
    assert not [one for one in absurd(rows, (1000, 2)).reasons if one.code == "dominant-draws"]
    assert not absurd({(7,): 20.0}, (1000, 2)).reasons


def test_a_heavy_tail_is_no_absurd_score() -> None:
    """Scores of Gamma(3) have no variance; the largest of 1,000 stands out, but not by so much."""
    for seed in range(200):
        draws = np.random.default_rng(seed).gamma(3.0, size=(1000, 4))
        squares = np.add.reduceat((2.0 / draws - 1.0) ** 2, np.arange(0, 1000, 4))
        found = verdict.dominant_batches(squares)
        assert found is None or squares[:, found[0]].max() > 0.9 * squares[:, found[0]].sum()
