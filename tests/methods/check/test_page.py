"""docs/check.md says what the code does: its steps in their order, all statistics, the shares."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import polystein as ps
from polystein.inference import agreement, convergence_of_means, memory
from polystein.inference.memory import joinings, speeds, variance_curves
from polystein.methods.check import (
    batches,
    flips,
    forms,
    left_out,
    look,
    net,
    statistics,
    sums,
    trained,
    verdict,
)
from polystein.methods.check import check as module
from polystein.methods.check.statistics import (
    AGREEMENT,
    FLIPS,
    NET,
    SHARES_OF_CHAINS,
    SHARES_OF_ROWS,
    STATISTICS,
    TRAINED,
)

PAGE = (Path(__file__).parents[3] / "docs" / "check.md").read_text(encoding="utf-8")
SHORT = {FLIPS: "flips", TRAINED: "trained", AGREEMENT: "agreement", NET: "net"}


def test_the_page_has_the_steps_of_the_code() -> None:
    """Fifteen of them, with the same first words in the same order."""
    told = re.findall(r"^(\d+)\. \*\*([^*.]+)\.\*\*", PAGE, flags=re.M)
    done = re.findall(r"# (\d+)\. ([^.,:]+)[.,:]", inspect.getsource(module))
    assert [int(number) for number, _ in told] == list(range(1, 16))
    assert told == done


def test_the_page_has_every_statistic_as_it_is_in_the_code() -> None:
    table = PAGE.partition("<!-- table: statistics -->")[2].partition("<!-- end of table")[0]
    lines = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
    told = [[cell.strip(" `|") for cell in line] for line in lines[2:]]
    assert len(told) == 24
    expected = [(arm, one) for arm, every in STATISTICS.items() for one in every]
    for cells, (arm, one) in zip(told, expected, strict=True):
        words, numbers = cells[:4], [float(cell) for cell in cells[4:] if cell]
        assert words == [arm, one.name, one.looks_at, one.features]
        # The last two are of sums over batches.
        minima = [one.batches, one.rows][: 1 + (one.rows > 0)] if arm in (FLIPS, NET) else []
        assert numbers == [one.share, one.correlated, *minima]


@pytest.mark.parametrize(
    ("shares", "of"), [(SHARES_OF_CHAINS, "chains"), (SHARES_OF_ROWS, "independent rows")]
)
def test_the_page_has_the_shares_of_the_arms(shares: dict[str, float], of: str) -> None:
    (line,) = re.findall(rf"^ *p = min\(1, (.*)\) +for {of}[,.]$", PAGE, flags=re.M)
    assert line == ", ".join(f"p_{SHORT[arm]} / {share:g}" for arm, share in shares.items())


def test_the_docstring_has_the_shares_of_the_arms() -> None:
    told = re.findall(r"\b0\.\d+\b", str(ps.check.__doc__).partition("share of the level:")[2])
    expected = [*SHARES_OF_CHAINS.values(), *SHARES_OF_ROWS.values()]
    assert [float(share) for share in told[: len(expected)]] == pytest.approx(expected)


WORDS = {2: "two", 3: "three", 4: "four", 8: "eight", 10: "ten"}
SENTENCES = [
    # Steps 2 to 4
    f"If there are at least {batches.MANY_CHAINS} chains ({batches.MANY_SHORT_CHAINS} if one has "
    f"fewer than {batches.SHORT_CHAIN} rows), it is half of the chains.",
    f"to compute the median and the central {100 * look.CENTRAL_PART:.0f} %: "
    f"{look.KEPT_ROWS:,} rows, or {look.ROWS_A_ROOT:g} √n if that is more",
    f"at most {batches.MOST_BATCHES_OF_ROWS} batches, chains into at most "
    f"{batches.MOST_BATCHES_OF_CHAINS}, of at least {WORDS[batches.ROWS_A_BATCH]} rows",
    # The kernel net
    f"a kernel Stein discrepancy of {net.NET_ROWS} rows",
    f"{WORDS[int(net.ROWS_TO_WHITEN)]} rows a coordinate and at most {sums.MOST_COORDINATES:,} "
    "coordinates",
    f"inverse multiquadric with c² = {net.NET_KERNEL.c**2:.2g}",
    f"at least {statistics.FEWEST_FOR_NET} are left",
    f"{net.FIRST_PATTERNS:,} patterns of signs, and up to {net.FURTHER_PATTERNS[-1]:,}",
    # Waves, correlation, flips
    f"If there are more than {sums.MOST_ROBUST_ROWS:,} rows, waves",
    f"from {statistics.LEAST_CORRELATION} to {statistics.MOST_CORRELATION} (a pair",
    f"needs {WORDS[int(flips.ROWS_FOR_DIRECTIONS)]} rows a coordinate",
    f"worth {WORDS[int(forms.FEWEST_INDEPENDENT_A_COORDINATE)]} independent rows for each",
    f"There are {flips.FIRST_PATTERNS} patterns of signs",
    "to {:,}, {:,} and at most {:,} patterns".format(*flips.FURTHER_PATTERNS),
    # Memory
    f"within {100 * memory.FLAT:.0f} % and one standard error",
    f"The next {trained.GAP_MEMORIES:.0f} M rows are dropped",
    f"cut into batches of about {trained.BATCH_MEMORIES:.0f} M rows: at least "
    f"{WORDS[trained.FEWEST_A_CHAIN]} in a chain and {trained.FEWEST_TEST_BATCHES} in all, at most "
    f"{trained.MOST_TEST_BATCHES}",
    f"worth more than {convergence_of_means.CAUTIOUS:.0f} draws, longer batches count only",
    f"either of the two is above {verdict.SUSPECT_RHAT}, elsewhere",
    # What is left out
    f"worth fewer than {left_out.FEWEST_DRAWS:.0f} independent draws, or fewer than "
    f"{left_out.FEW_DRAWS:.0f} and less than a quarter of the best one's",
    f"disagree, with an R-hat above {left_out.RHAT_LEFT_OUT}",
    f"is worth fewer than {left_out.FEW_OF_SCALE:.0f} draws (a quarter of the ranked rows if these "
    f"are fewer than {left_out.SOME_OF_SCALE:.0f}), or fewer than {left_out.SOME_OF_SCALE:.0f} and "
    "less than half",
    f"see less than {forms.LEAST_DEFLATION} of their variance",
    f"need {statistics.FEWEST_FOR_SPREADS} batches, each of eight independent rows, and the traces "
    f"need {statistics.FEWEST_FOR_TRACES}",
    f"worth fewer than {trained.LEAST_TRAINING_ESS:.0f} independent training rows",
    f"In more than {sums.MOST_PAIRED_DIMENSIONS} dimensions the sign flips do not look at pairs",
    f"at least {WORDS[verdict.LONG_STAY]} rows, and the lengths of stays have a Pareto index above "
    f"{verdict.LARGEST_INDEX_OF_STAYS}",
    f"fewer than {agreement.SHORTEST_CHAIN} draws ({agreement.SHORTEST_OF_MANY} if there are "
    f"{agreement.MANY_CHAINS} chains or more)",
    f"Fewer than {verdict.ESS_OPEN:.0f} independent rows",
    f"more than {verdict.MOST_OF_ONE_BATCH} of the squared scores of a coordinate",
    f"R-hat is at most {verdict.HEALTHY_RHAT} and the ESS at least {verdict.HEALTHY_ESS:.0f}",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_page_has_the_thresholds_of_the_code(sentence: str) -> None:
    assert sentence in " ".join(PAGE.split())


def test_variances_within_chains_do_not_see_that_chains_disagree() -> None:
    """The page says why the ESS has a rule of its own, with the numbers of these chains."""
    noise = np.random.default_rng(1).standard_normal((4, 1000, 1))
    noise[:, 1:] *= 0.75**0.5
    draws = lfilter([1.0], [1.0, -0.5], noise, axis=1)
    draws += np.array([-1.0, -0.3, 0.3, 1.0])[:, None, None]
    summed, variance = draws.reshape(200, 20, 1).sum(axis=1), draws.reshape(-1, 1).var(axis=0)
    rows, chains = np.full(200, 20.0), np.repeat(np.arange(4), 50)
    own = convergence_of_means.convergence_of_means(summed, rows, chains, variance).ess
    levels = joinings(rows, chains)
    curves = variance_curves(summed, levels)
    (speed,) = speeds(curves, levels)
    within = 4000.0 * variance * speed.memory.deflation / curves[speed.memory.level]
    assert "would have an ESS of 2,350 by it, and have one of 17" in " ".join(PAGE.split())
    assert (round(float(within[0]), -1), round(float(own[0]))) == (2350.0, 17)
