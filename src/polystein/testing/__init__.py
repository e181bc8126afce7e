"""For other people's test suites: assertions that a sampler draws from its target.

`draws_from` grows the number of seeds until it can tell, and `invariant` compares rows before and
after one transition. Both judge the features of `features`, and answer with the results of
`outcome`, which `record` also keeps for the summary of pytest.
"""

from polystein.testing.draws_from import assert_draws_from
from polystein.testing.invariant import assert_invariant
from polystein.testing.outcome import Detect, SamplerTest

__all__ = ["Detect", "SamplerTest", "assert_draws_from", "assert_invariant"]


def __dir__() -> list[str]:
    """Show the public names only."""
    return list(__all__)
