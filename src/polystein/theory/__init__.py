"""What the paper proves about PSD and lambda-PSD, as numbers one can compute.

`GaussianPair` holds the paper's Gaussian setting and answers exactly. `snr_squared` estimates
Theorem 3.5 from draws of any sampler. `printed_law` and `corrected_law` are Remark 3.6.
"""

from polystein.theory.gaussian import GaussianPair, SteinMeans
from polystein.theory.laws import corrected_law, printed_law
from polystein.theory.u_statistic import SignalToNoise, snr_squared

__all__ = [
    "GaussianPair",
    "SignalToNoise",
    "SteinMeans",
    "corrected_law",
    "printed_law",
    "snr_squared",
]


def __dir__() -> list[str]:
    """Show the public names only."""
    return list(__all__)
