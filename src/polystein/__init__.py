"""Do these draws come from that target? Polynomial Stein discrepancies.

The public names, and nothing else.
"""

from polystein import theory
from polystein._version import __version__
from polystein.corrections.expectations import expectations
from polystein.data.sample import Sample
from polystein.data.split import BlockSplit, ChainSplit, RandomSplit
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
from polystein.explain.effects import effects
from polystein.inference.variance import IID, BatchMeans, InitialSequence
from polystein.methods.bootstrap import psd_bootstrap_test
from polystein.methods.check.check import check
from polystein.methods.discrepancy import lambda_psd, o_psd, psd
from polystein.methods.gof import lambda_psd_test, psd_test
from polystein.results.effects import EffectTable, ExpectationTable
from polystein.results.result import GofResult
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
from polystein.stein.moments import SteinMoments
from polystein.weights.rules import ClosedForm, CrossEntropy, SoftThreshold, Uniform

__all__ = [
    "IID",
    "BatchMeans",
    "BlockSplit",
    "ChainSplit",
    "ClosedForm",
    "CrossEntropy",
    "DegenerateError",
    "DependenceWarning",
    "EffectTable",
    "ExpectationTable",
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
    "effects",
    "expectations",
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


def __dir__() -> list[str]:
    """Show the public names only: rooms are importable, and not for users."""
    return list(__all__)
