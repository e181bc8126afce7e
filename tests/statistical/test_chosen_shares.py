"""The shares of the level in the code are those that ``python -m studies.check choose`` chose."""

import importlib

import pytest

from polystein.methods.check.statistics import (
    AGREEMENT,
    FLIPS,
    OF_FLIPS,
    SHARES_OF_CHAINS,
    SHARES_OF_ROWS,
    STATISTICS,
)

pytestmark = pytest.mark.slow

Shares = dict[tuple[str, str], tuple[float, float]]


@pytest.fixture
def chosen() -> Shares:
    shares: Shares = importlib.import_module("studies.check.choose").chosen_shares()
    return shares


def test_the_shares_of_sign_flips_are_the_chosen_ones(chosen: Shares) -> None:
    of_flips = {name: shares for (arm, name), shares in chosen.items() if arm == FLIPS}
    assert {one.name: (one.share, one.correlated) for one in OF_FLIPS} == of_flips


@pytest.mark.parametrize("arm", STATISTICS)
def test_an_arm_has_the_shares_of_its_statistics_together(arm: str, chosen: Shares) -> None:
    own = [shares for (name, _), shares in chosen.items() if name == arm]
    for kind in (0, 1):
        assert SHARES_OF_CHAINS[arm] == pytest.approx(sum(shares[kind] for shares in own))


def test_independent_rows_leave_the_share_of_chains_to_the_sign_flips() -> None:
    together = SHARES_OF_CHAINS[FLIPS] + SHARES_OF_CHAINS[AGREEMENT]
    assert SHARES_OF_ROWS[FLIPS] == pytest.approx(together)
    assert sum(SHARES_OF_ROWS.values()) == pytest.approx(1.0)
    assert sum(SHARES_OF_CHAINS.values()) == pytest.approx(1.0)
