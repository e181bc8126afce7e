"""Several tests, one level: how the arms of `check` share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polystein.results.evidence import Abstention, Arm

#: What each arm is called, and which rows it judges.
FLIPS, ALL_ROWS = "sign flips", "all rows"
TRAINED, TEST_ROWS = "trained witnesses", "the test rows"
AGREEMENT = "agreement of chains"
#: What sign flips do not look at in many dimensions.
PAIRS = "sign flips of pairs of coordinates"
#: What they do not look at with few rows, either.
DIRECTIONS = "sign flips of whole directions"

#: What a verdict is not held open for: it says so instead.
GIVEN_UP = (PAIRS, DIRECTIONS)

#: Shares of the level. They were chosen on seeds that appear in no table. Independent rows have no
#: chains that could agree.
SHARES_OF_ROWS: Mapping[str, float] = {FLIPS: 0.88, TRAINED: 0.12}
SHARES_OF_CHAINS: Mapping[str, float] = {FLIPS: 0.836, TRAINED: 0.114, AGREEMENT: 0.05}


def combined(
    found: Sequence[Arm | Abstention], shares: Mapping[str, float]
) -> tuple[tuple[Arm, ...], tuple[Abstention, ...]]:
    """The arms with their shares of the level, smallest p-value first, and those that abstain.

    The first one's p-value is the p-value of all together (Bonferroni, with unequal shares
    fixed in advance). Where an arm abstains, the others keep their own shares.
    """
    arms = [one.with_level_share(shares[one.name]) for one in found if isinstance(one, Arm)]
    abstained = tuple(one for one in found if isinstance(one, Abstention))
    return tuple(sorted(arms, key=lambda arm: arm.pvalue)), abstained
