"""The rivals: other tests of the same question, with the same signature and result."""

from polystein.rivals.kernels import GaussianKernel, IMQKernel
from polystein.rivals.ksd import ksd, ksd_test
from polystein.rivals.ksdagg import ksdagg_test
from polystein.rivals.nystrom import nystrom_ksd_test

__all__ = [
    "GaussianKernel",
    "IMQKernel",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "nystrom_ksd_test",
]
