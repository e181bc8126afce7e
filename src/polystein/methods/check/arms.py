"""Two tests, one level: how the arms of `check` share it."""

from __future__ import annotations

from polystein.results.evidence import Arm

#: What each arm is called, and which rows it judges.
FLIPS, ALL_ROWS = "sign flips", "all rows"
TRAINED, TEST_ROWS = "trained witnesses", "the test rows"


def combined(flips: Arm | None, trained: Arm | None, flips_share: float) -> tuple[Arm, ...]:
    """Both arms with their shares of the level, the one with the smaller p-value first.

    The first one's p-value is the p-value of the two together (Bonferroni, with unequal
    shares fixed in advance). An arm that abstains is left out, and the other keeps its own share.
    """
    arms = [] if flips is None else [flips.with_level_share(flips_share)]
    arms += [] if trained is None else [trained.with_level_share(1.0 - flips_share)]
    return tuple(sorted(arms, key=lambda arm: arm.pvalue))
