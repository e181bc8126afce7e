"""For other people's test suites: assertions that a sampler draws from its target.

`draws_from` grows the number of seeds until it can tell, and `invariant` compares rows before and
after one transition. Both judge the features of `features`, and answer with the results of
`outcome`, which `record` also keeps for the summary of pytest.

A test in a test suite, here of a sampler of N(0, 1):

>>> import numpy as np
>>> import polystein as ps
>>> def sampler(seed, n):
...     return np.random.default_rng(seed).standard_normal((n, 1))
>>> def test_the_sampler():
...     ps.testing.assert_draws_from(sampler, lambda x: -x)
>>> test_the_sampler()
"""

from polystein.testing.draws_from import assert_draws_from
from polystein.testing.invariant import assert_invariant
from polystein.testing.outcome import Detect, SamplerTest

__all__ = ["Detect", "SamplerTest", "assert_draws_from", "assert_invariant"]


def __dir__() -> list[str]:
    """Show the public names only."""
    return list(__all__)
