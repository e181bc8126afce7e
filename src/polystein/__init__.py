"""Do these draws come from that target? Polynomial Stein discrepancies.

The public names, and nothing else.
"""

from polystein import theory
from polystein._version import __version__
from polystein.bootstrap import psd_bootstrap_test
from polystein.check import check
from polystein.discrepancy import lambda_psd, o_psd, psd
from polystein.errors import (
    DegenerateError,
    DependenceWarning,
    HeavyTailWarning,
    InputError,
    LowESSWarning,
    MissingExtraError,
    PolysteinError,
    PolysteinWarning,
    ScaleError,
)
from polystein.gof import lambda_psd_test, psd_test
from polystein.moments import SteinMoments
from polystein.result import GofResult
from polystein.rivals import (
    GaussianKernel,
    IMQKernel,
    fssd_test,
    ksd,
    ksd_test,
    ksdagg_test,
    nystrom_ksd_test,
    psd_l2_test,
    rfsd_test,
)
from polystein.sample import Sample
from polystein.split import BlockSplit, ChainSplit, RandomSplit
from polystein.variance import IID, BatchMeans, InitialSequence
from polystein.weights import ClosedForm, CrossEntropy, SoftThreshold, Uniform

__all__ = [
    "IID",
    "BatchMeans",
    "BlockSplit",
    "ChainSplit",
    "ClosedForm",
    "CrossEntropy",
    "DegenerateError",
    "DependenceWarning",
    "GaussianKernel",
    "GofResult",
    "HeavyTailWarning",
    "IMQKernel",
    "InitialSequence",
    "InputError",
    "LowESSWarning",
    "MissingExtraError",
    "PolysteinError",
    "PolysteinWarning",
    "RandomSplit",
    "Sample",
    "ScaleError",
    "SoftThreshold",
    "SteinMoments",
    "Uniform",
    "__version__",
    "check",
    "fssd_test",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "lambda_psd",
    "lambda_psd_test",
    "nystrom_ksd_test",
    "o_psd",
    "psd",
    "psd_bootstrap_test",
    "psd_l2_test",
    "psd_test",
    "rfsd_test",
    "theory",
]
