"""What the paper proves about PSD and lambda-PSD, as numbers one can compute.

`GaussianPair` holds the paper's Gaussian setting and answers exactly. `moment_differences` is
Theorem 3.3 and Corollary 3.4. `snr_squared` estimates Theorem 3.5 from draws of any sampler.
`printed_law` and `corrected_law` are Remark 3.6.

How the exact signal-to-noise ratio of the U-statistic changes with the order, at n = 1000:

>>> import polystein as ps
>>> pair = ps.theory.GaussianPair(dimension=2, delta=0.1, variance=1.0)
>>> [round(pair.snr_squared_u(order, n=1000), 1) for order in (0, 1, 3)]
[4.8, 3.5, 0.3]
"""

from polystein.theory.gaussian import GaussianPair, SteinMeans
from polystein.theory.moments import MomentDifferences, ProductMoments, moment_differences
from polystein.theory.u_statistic import (
    SignalToNoise,
    corrected_law,
    printed_law,
    snr_squared,
)

__all__ = [
    "GaussianPair",
    "MomentDifferences",
    "ProductMoments",
    "SignalToNoise",
    "SteinMeans",
    "corrected_law",
    "moment_differences",
    "printed_law",
    "snr_squared",
]


def __dir__() -> list[str]:
    """Show the public names only."""
    return list(__all__)
