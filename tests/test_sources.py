"""Any source goes through every public function that takes draws, and gives the same answer."""

import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polystein as ps
from polystein.data.source import Source
from tests.sources import MinimalSource, SequentialSource, WeightedSource

Array = NDArray[np.float64]
Function = Callable[..., Any]

CHAIN_OPTIONS: dict[str, Any] = {"split": ps.BlockSplit(), "variance": ps.InitialSequence()}
#: Every public function that takes draws: for independent rows, for chains, with weights.
FUNCTIONS: dict[str, tuple[Function, dict[str, Any], set[str]]] = {
    "psd": (ps.psd, {"order": 3}, {"rows", "chains", "weights"}),
    "psd u": (ps.psd, {"order": 2, "estimator": "u"}, {"rows", "chains", "weights"}),
    "lambda_psd": (ps.lambda_psd, {"order": 2}, {"rows", "chains", "weights"}),
    "o_psd": (ps.o_psd, {"order": 2}, {"rows", "chains", "weights"}),
    "psd_test": (ps.psd_test, {"order": 2, "rng": 1}, {"rows", "weights"}),
    "psd_test repeats": (ps.psd_test, {"order": 2, "repeats": 3, "rng": 1}, {"rows"}),
    "psd_test chains": (ps.psd_test, {"order": 2, "rng": 1, **CHAIN_OPTIONS}, {"chains"}),
    "lambda_psd_test": (ps.lambda_psd_test, {"order": 3, "rng": 1}, {"rows", "weights"}),
    "lambda_psd_test chains": (
        ps.lambda_psd_test,
        {"order": 3, "rng": 1, "variance": ps.BatchMeans(), "split": ps.ChainSplit()},
        {"chains"},
    ),
    "lambda_psd_test entry": (
        ps.lambda_psd_test,
        {"order": 2, "resolution": "entry", "standardise": True, "rng": 1},
        {"rows", "weights"},
    ),
    "psd_bootstrap_test": (
        ps.psd_bootstrap_test,
        {"order": 2, "n_bootstrap": 50, "rng": 1},
        {"rows", "chains", "weights"},
    ),
    "check": (ps.check, {"rng": 1}, {"rows", "chains", "weights"}),
    "check iid": (ps.check, {"rng": 1, "iid": True}, {"rows", "weights"}),
    "check tolerance": (ps.check, {"rng": 1, "tolerance": 0.1}, {"rows", "chains", "weights"}),
    "expectations": (ps.expectations, {}, {"rows", "chains", "weights"}),
    "expectations functions": (
        ps.expectations,
        {"functions": {"cube": lambda x: x**3}, "iid": True},
        {"rows", "weights"},
    ),
    "effects": (ps.effects, {}, {"rows", "chains", "weights"}),
    "effects iid": (ps.effects, {"iid": True}, {"rows", "weights"}),
    "ksd": (ps.ksd, {}, {"rows", "chains", "weights"}),
    "ksd_test": (ps.ksd_test, {"n_bootstrap": 50, "rng": 1}, {"rows", "chains", "weights"}),
    "ksdagg_test": (
        ps.ksdagg_test,
        {"n_bootstrap": 50, "n_correction": 20, "rng": 1},
        {"rows", "chains", "weights"},
    ),
    "nystrom_ksd_test": (
        ps.nystrom_ksd_test,
        {"n_bootstrap": 50, "rng": 1},
        {"rows", "chains", "weights"},
    ),
    "fssd_test": (ps.fssd_test, {"rng": 1, "n_simulations": 100}, {"rows"}),
    "rfsd_test": (ps.rfsd_test, {"n_bootstrap": 50, "rng": 1}, {"rows"}),
    "psd_l2_test": (
        ps.psd_l2_test,
        {"order": 2, "n_bootstrap": 50, "rng": 1},
        {"rows", "chains", "weights"},
    ),
    "refine": (
        ps.refine,
        {
            "log_density": lambda x: -0.5 * np.sum(x**2, axis=1),
            "scores": lambda x: -x,
            "transitions": 2,
            "starts": 60,
            "rng": 1,
        },
        {"rows", "chains"},
    ),
}
#: Public names that take no draws.
WITHOUT_DRAWS = {"BatchMeans", "BlockSplit", "ChainSplit", "ClosedForm", "CrossEntropy", "IID"}
WITHOUT_DRAWS |= {"GaussianKernel", "IMQKernel", "GofResult", "InitialSequence", "RandomSplit"}
WITHOUT_DRAWS |= {"EffectTable", "ExpectationTable"}
WITHOUT_DRAWS |= {"SoftThreshold", "Uniform", "__version__", "testing", "theory"}
WITHOUT_DRAWS |= {name for name in ps.__all__ if name.endswith(("Error", "Warning"))}
#: The door itself, and the accumulator, which has a test of its own.
WITHOUT_DRAWS |= {"Sample", "SteinMoments"}
#: Many fits, each by `check`, and the answers.
WITHOUT_DRAWS |= {"check_many", "CheckTable", "Refinement"}
#: Two targets; draws are an option, and `tests/workflows/test_same_target_inputs.py` gives sources.
WITHOUT_DRAWS |= {"same_target", "TargetComparison"}
#: Many sets of draws; `tests/workflows/test_compare.py` gives sources.
WITHOUT_DRAWS |= {"compare", "SamplerComparison"}
#: Plots, which answer with axes; `tests/report/test_draws.py` draws those of draws.
WITHOUT_DRAWS |= {name for name in ps.__all__ if name.startswith("plot_")}
#: The monitor, which takes draws as they come and no source of finished ones.
WITHOUT_DRAWS |= {"Monitor"}
#: Adapters, which take objects of other libraries.
WITHOUT_DRAWS |= {name for name in ps.__all__ if name.startswith(("from_", "to_"))}


@cache
def chains(count: int, rows: int, d: int = 3, memory: float = 0.5) -> list[tuple[Array, Array]]:
    """AR(1) chains about N(0, I), a little too wide, and their scores."""
    rng = np.random.default_rng(5)
    draws = rng.standard_normal((count, rows, d))
    for t in range(1, rows):
        draws[:, t] = memory * draws[:, t - 1] + np.sqrt(1 - memory**2) * draws[:, t]
    return [(1.05 * part, -1.05 * part) for part in draws]


def pair(kind: str) -> tuple[Source, ps.Sample]:
    """A source that makes rows on request, and the sample of the same rows."""
    ordered = kind == "chains"
    parts = chains(3, 300) if ordered else chains(1, 400, memory=0.0)
    draws, scores = (np.stack(part) for part in zip(*parts, strict=True))
    if not ordered:
        draws, scores = draws[0], scores[0]
    if kind != "weights":
        return MinimalSource(parts, time_ordered=ordered), ps.Sample(draws, scores)
    log_weights, names = np.random.default_rng(6).normal(300.0, 1.0, len(draws)), ("a", "b", "c")
    lazy = WeightedSource(parts, [log_weights], names, time_ordered=False)
    return lazy, ps.Sample(draws, scores, names=names, log_weights=log_weights)


def answer(function: Function, source: Source, options: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        result = function(source, **options)
    if isinstance(result, float):
        return {"value": result}
    # All rows are ranked for a record only if they are in memory.
    return {key: value for key, value in result.to_dict().items() if key != "diagnostics"}


def assert_same(first: Any, second: Any) -> None:
    """Equal words, and numbers equal to 1e-12."""
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key, value in first.items():
            assert_same(value, second[key])
    elif isinstance(first, list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif isinstance(first, float) and second is not None:
        assert first == pytest.approx(second, rel=1e-12, abs=1e-300)
    else:
        assert first == second


CASES = [(name, kind) for name, (_, _, kinds) in FUNCTIONS.items() for kind in sorted(kinds)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_lazy_source_gives_the_answer_of_the_sample(name: str, kind: str) -> None:
    function, options, _ = FUNCTIONS[name]
    lazy, sample = pair(kind)
    found, expected = (answer(function, source, options) for source in (lazy, sample))
    assert_same(found, expected)


def test_every_public_function_that_takes_draws_is_among_them() -> None:
    tried = {function.__name__ for function, _, _ in FUNCTIONS.values()}
    assert tried | WITHOUT_DRAWS == set(ps.__all__)


@pytest.mark.parametrize("kind", ["rows", "chains", "weights"])
def test_moments_take_any_source(kind: str) -> None:
    lazy, sample = pair(kind)
    first, second = (ps.SteinMoments(2).update(one).finalise().norm() for one in (lazy, sample))
    assert first == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize("name", ["psd", "check", "ksd_test", "psd_test chains"])
def test_chains_of_a_source_may_differ_in_length(name: str) -> None:
    function, options, _ = FUNCTIONS[name]
    parts = [(draws[:stop], scores[:stop]) for stop, (draws, scores) in zip(
        (300, 200, 250), chains(3, 300), strict=True
    )]  # fmt: skip
    found = answer(function, MinimalSource(parts, time_ordered=True), options)
    assert np.isfinite(found.get("value", found.get("pvalue")))


@pytest.mark.parametrize(
    ("name", "most"),
    # The guard, a first look, times, sums, four folds and the test rows; four passes of one test;
    # one pass.
    [("check", 9), ("lambda_psd_test", 4), ("psd", 1)],
)
def test_rows_are_read_forwards_in_every_pass(name: str, most: int) -> None:
    function, options, _ = FUNCTIONS[name]
    parts = chains(3, 3000) if name == "check" else chains(1, 9000, memory=0.0)
    source = SequentialSource(parts, time_ordered=name == "check")
    answer(function, source, options)
    assert source.restarts < most


def test_scores_beside_a_source_are_an_error() -> None:
    lazy, _ = pair("rows")
    with pytest.raises(ps.InputError, match="`scores` must not be given with a MinimalSource"):
        ps.psd(lazy, lambda x: -x, order=1)


def test_a_source_without_a_layout_is_told_what_it_needs() -> None:
    lazy, _ = pair("rows")
    lazy.layout = (400, 3)  # type: ignore[assignment]
    with pytest.raises(ps.InputError, match=r"must be a polystein\.data\.source\.Layout"):
        ps.psd(lazy, order=1)


def test_one_chain_is_time_ordered_to_check_unless_rows_are_independent() -> None:
    """The paper's tests take the same rows for independent ones; nothing hangs on the rank."""
    lazy, sample = pair("rows")
    for source in (lazy, sample):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ps.PolysteinWarning)
            chain, rows = (ps.check(source, iid=iid, rng=1) for iid in (False, True))
        assert (chain.settings["iid"], rows.settings["iid"]) == (False, True)
        # Rows of a chain keep their order, and have diagnostics.
        assert chain.diagnostics is not None
        assert rows.diagnostics is None
        assert source.layout.time_ordered is False


@pytest.mark.parametrize("kind", ["rows", "chains", "weights"])
def test_samples_and_results_survive_pickling(kind: str) -> None:
    _, sample = pair(kind)
    again = pickle.loads(pickle.dumps(sample))
    first, second = (answer(ps.check, one, {"rng": 1}) for one in (sample, again))
    assert_same(first, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ps.PolysteinWarning)
        result = ps.check(sample, rng=1)
    assert pickle.loads(pickle.dumps(result)).to_dict() == result.to_dict()
