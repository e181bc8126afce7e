"""docs/check.md says what the code does: its steps in their order, all statistics, the shares."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter

import polystein as ps
from polystein.inference.convergence_of_means import convergence_of_means
from polystein.inference.memory import joinings, speeds, variance_curves
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
    (line,) = re.findall(rf"^    p = min\(1, (.*)\) +for {of}[,.]$", PAGE, flags=re.M)
    assert line == ", ".join(f"p_{SHORT[arm]} / {share:g}" for arm, share in shares.items())


def test_the_docstring_has_the_shares_of_the_arms() -> None:
    told = re.findall(r"\b0\.\d+\b", str(ps.check.__doc__).partition("share of the level:")[2])
    expected = [*SHARES_OF_CHAINS.values(), *SHARES_OF_ROWS.values()]
    assert [float(share) for share in told[: len(expected)]] == pytest.approx(expected)


def test_variances_within_chains_do_not_see_that_chains_disagree() -> None:
    """The page says why the ESS has a rule of its own, with the numbers of these chains."""
    noise = np.random.default_rng(1).standard_normal((4, 1000, 1))
    noise[:, 1:] *= 0.75**0.5
    draws = lfilter([1.0], [1.0, -0.5], noise, axis=1)
    draws += np.array([-1.0, -0.3, 0.3, 1.0])[:, None, None]
    batches, variance = draws.reshape(200, 20, 1).sum(axis=1), draws.reshape(-1, 1).var(axis=0)
    rows, chains = np.full(200, 20.0), np.repeat(np.arange(4), 50)
    own = convergence_of_means(batches, rows, chains, variance).ess
    levels = joinings(rows, chains)
    curves = variance_curves(batches, levels)
    (speed,) = speeds(curves, levels)
    within = 4000.0 * variance * speed.memory.deflation / curves[speed.memory.level]
    assert "would have an ESS of 2,350 by it, and have one of 17" in " ".join(PAGE.split())
    assert (round(float(within[0]), -1), round(float(own[0]))) == (2350.0, 17)
