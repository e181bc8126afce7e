"""The rivals: other tests of the same question, with the same signature and result."""

from polystein.rivals.fssd import fssd_test
from polystein.rivals.ksd import ksd, ksd_test
from polystein.rivals.ksdagg import ksdagg_test
from polystein.rivals.nystrom import nystrom_ksd_test
from polystein.rivals.psd_l2 import psd_l2_test
from polystein.rivals.rfsd import rfsd_test
from polystein.stein.kernel import GaussianKernel, IMQKernel

__all__ = [
    "GaussianKernel",
    "IMQKernel",
    "fssd_test",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "nystrom_ksd_test",
    "psd_l2_test",
    "rfsd_test",
]
