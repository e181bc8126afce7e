"""Do these draws come from that target? Polynomial Stein discrepancies.

The public names, and nothing else.
"""

from polystein._lib import interrupts as _interrupts  # noqa: F401  (before all that takes time)

# isort: split
from polystein import testing, theory
from polystein._version import __version__
from polystein.adapters.arviz import from_arviz, to_arviz
from polystein.adapters.blackjax import from_blackjax
from polystein.adapters.bridgestan import from_bridgestan
from polystein.adapters.cmdstan import from_cmdstan
from polystein.adapters.file import from_file
from polystein.adapters.jax import from_jax
from polystein.adapters.numpyro import from_numpyro
from polystein.adapters.nutpie import from_nutpie
from polystein.adapters.pymc import from_pymc
from polystein.adapters.pystan import from_pystan
from polystein.adapters.scipy import from_scipy
from polystein.adapters.torch import from_torch
from polystein.data.sample import Sample
from polystein.data.split import BlockSplit, ChainSplit, RandomSplit
from polystein.errors import (
    ClusterError,
    DegenerateError,
    DependenceWarning,
    FaultError,
    HeavyTailWarning,
    InputError,
    LowESSWarning,
    MissingExtraError,
    PolysteinDeprecationWarning,
    PolysteinError,
    PolysteinWarning,
    ScaleError,
    ScoreWarning,
    UndecidedError,
)
from polystein.explain.effects import effects
from polystein.explain.expectations import expectations
from polystein.inference.batch_means import BatchMeans
from polystein.inference.variance import IID, InitialSequence
from polystein.methods.bootstrap import psd_bootstrap_test
from polystein.methods.check.check import check
from polystein.methods.discrepancy import lambda_psd, o_psd, psd
from polystein.methods.gof import lambda_psd_test, psd_test
from polystein.refinement.refine import refine
from polystein.report.bars import plot_evidence, plot_weights
from polystein.report.compare_plot import plot_compare
from polystein.report.draws import plot_chains, plot_moments
from polystein.report.forest import plot_effects
from polystein.results.effects import EffectTable, ExpectationTable
from polystein.results.many import CheckTable
from polystein.results.refinement import Refinement
from polystein.results.result import GofResult
from polystein.results.same_target import TargetComparison
from polystein.results.sampler_comparison import SamplerComparison
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
from polystein.scale.door import from_store
from polystein.stein.moments import SteinMoments
from polystein.weights.rules import ClosedForm, CrossEntropy, SoftThreshold, Uniform
from polystein.workflows.compare import compare
from polystein.workflows.many import check_many
from polystein.workflows.monitor import Monitor
from polystein.workflows.same_target import same_target

__all__ = [
    "IID",
    "BatchMeans",
    "BlockSplit",
    "ChainSplit",
    "CheckTable",
    "ClosedForm",
    "ClusterError",
    "CrossEntropy",
    "DegenerateError",
    "DependenceWarning",
    "EffectTable",
    "ExpectationTable",
    "FaultError",
    "GaussianKernel",
    "GofResult",
    "HeavyTailWarning",
    "IMQKernel",
    "InitialSequence",
    "InputError",
    "LowESSWarning",
    "MissingExtraError",
    "Monitor",
    "PolysteinDeprecationWarning",
    "PolysteinError",
    "PolysteinWarning",
    "RandomSplit",
    "Refinement",
    "Sample",
    "SamplerComparison",
    "ScaleError",
    "ScoreWarning",
    "SoftThreshold",
    "SteinMoments",
    "TargetComparison",
    "UndecidedError",
    "Uniform",
    "__version__",
    "check",
    "check_many",
    "compare",
    "effects",
    "expectations",
    "from_arviz",
    "from_blackjax",
    "from_bridgestan",
    "from_cmdstan",
    "from_file",
    "from_jax",
    "from_numpyro",
    "from_nutpie",
    "from_pymc",
    "from_pystan",
    "from_scipy",
    "from_store",
    "from_torch",
    "fssd_test",
    "ksd",
    "ksd_test",
    "ksdagg_test",
    "lambda_psd",
    "lambda_psd_test",
    "nystrom_ksd_test",
    "o_psd",
    "plot_chains",
    "plot_compare",
    "plot_effects",
    "plot_evidence",
    "plot_moments",
    "plot_weights",
    "psd",
    "psd_bootstrap_test",
    "psd_l2_test",
    "psd_test",
    "refine",
    "rfsd_test",
    "same_target",
    "testing",
    "theory",
    "to_arviz",
]


def __dir__() -> list[str]:
    """Show the public names only: rooms are importable, and not for users."""
    return list(__all__)
