"""The shares of the level in the code are those that ``python -m studies.check choose`` chose."""

import importlib

import pytest

from polystein.methods.check.arms import AGREEMENT, FLIPS, SHARES_OF_CHAINS, TRAINED
from polystein.methods.check.shares import CORRELATED, UNCORRELATED

pytestmark = pytest.mark.slow

Shares = dict[tuple[str, str], tuple[float, float]]


def shares_in_code() -> Shares:
    """The share of each statistic of the sign flips in the whole level, for both kinds of
    coordinates; those that are 0 are left out, as in the table."""
    whole = SHARES_OF_CHAINS[FLIPS]
    found = {
        (FLIPS, f"{name}: {kind}"): (
            whole * UNCORRELATED[name][place],
            whole * CORRELATED[name][place],
        )
        for name in UNCORRELATED
        for place, kind in enumerate(("sum", "max"))
    }
    return {name: shares for name, shares in found.items() if any(shares)}


def test_the_shares_in_the_code_are_the_chosen_ones() -> None:
    chosen: Shares = importlib.import_module("studies.check.choose").chosen_shares()
    flips = {name: shares for name, shares in chosen.items() if name[0] == FLIPS}
    found = shares_in_code()
    assert list(found) == list(flips)
    for name, shares in flips.items():
        assert found[name] == pytest.approx(shares, abs=1e-9)


@pytest.mark.parametrize("arm", [TRAINED, AGREEMENT])
def test_an_arm_has_the_shares_of_its_statistics_together(arm: str) -> None:
    chosen: Shares = importlib.import_module("studies.check.choose").chosen_shares()
    total = sum(shares[0] for (own, _), shares in chosen.items() if own == arm)
    assert SHARES_OF_CHAINS[arm] == pytest.approx(total, abs=1e-9)
