"""Values of every option, as source: sensible ones, extreme ones, and values of other kinds."""

from __future__ import annotations

import functools
from typing import NamedTuple

from hypothesis import strategies as st

#: Values of kinds that an option does not expect.
JUNK = (
    "None",
    "True",
    "0",
    "-1",
    "1.5",
    "-0.0",
    "nan",
    "inf",
    "1e308",
    "5e-324",
    "10**400",
    "-(2**63)",
    "3j",
    "''",
    "'auto'",
    "'\\x1b[31m'",
    "b'full'",
    "[]",
    "[1, 2]",
    "['a', 'a']",
    "{}",
    "{'a': 1}",
    "(2,)",
    "np.float32(4)",
    "np.int8(2)",
    "np.uint64(2**64 - 1)",
    "np.bool_(True)",
    "np.array([1.0, 2.0])",
    "np.array(2)",
    "np.datetime64('2020-01-01')",
    "minus",
    "stops",
    "int",
    "Strange()",
    "range(3)",
    "ps.IID",
    "ps",
)
_COUNT_EDGES = ("0", "1", "-1", "2**31", "2**63", "10**12", "10**400", "2.0", "np.int64(3)")
_NO_ORDERS = ("1001", "10**6", "10**400", "-1", "2.0")
_SHARE_EDGES = ("0.0", "1.0", "-0.1", "1e-320", "1 - 1e-16", "nan", "2", "np.float32(0.5)")
_REAL_EDGES = ("0.0", "-1.0", "1e-320", "1e308", "inf", "nan", "10**400", "np.float32(0.5)")
_FLAG = ("True", "False")
_FLAG_EDGES = ("np.bool_(False)", "0", "1", "'yes'")
_WORD_EDGES = ("''", "'Full'", "'full '", "np.str_('v')", "['v']", "None")
_NAMES = ("None", "['a', 'b']", "['mu', 'theta[0]']", "['a']", "['a', 'b', 'c']", "('x', 'y')")
_NAME_EDGES = (
    "['a', 'a']",
    "['', '']",
    "['\\x1b[31mred', '\\x00']",
    "['a\\nb', 'c\\td']",
    "['\\u202eabc', '\\ud800']",
    "['n' * 10000, 'm']",
    "'ab'",
    "[1, 2]",
    "[None, None]",
    "{'a': 1, 'b': 2}",
    "np.array(['a', 'b'])",
    "(name for name in 'ab')",
    "[b'a', b'b']",
)
_PICKED = ("None", "'a'", "['a']", "'~a'", "'*'", "['a', 'b']")
_PICKED_EDGES = (
    "''",
    "[]",
    "['[', ']']",
    "'~'",
    "'(?a'",
    "['a', '~a']",
    "'x' * 10000",
    "[1]",
    "'a[0'",
    "{'a'}",
)
_SPLITS = (
    "ps.RandomSplit()",
    "ps.RandomSplit(0.3, weights=0.2)",
    "ps.BlockSplit()",
    "ps.BlockSplit(0.5, gap=3)",
    "ps.ChainSplit()",
)
_SPLIT_EDGES = (
    "ps.RandomSplit(1e-300)",
    "ps.RandomSplit(1 - 1e-16)",
    "ps.BlockSplit(gap=10**6)",
    "ps.BlockSplit(0.01, gap=0)",
    "ps.ChainSplit(0.99)",
    "ps.BlockSplit",
)
_KERNELS = (
    "ps.IMQKernel()",
    "ps.IMQKernel(2.0, -0.9)",
    "ps.GaussianKernel()",
    "ps.GaussianKernel(0.5)",
)
_KERNEL_EDGES = (
    "ps.GaussianKernel(1e-300)",
    "ps.GaussianKernel(1e300)",
    "ps.IMQKernel(1e-300)",
    "ps.IMQKernel(1e300)",
    "ps.IMQKernel(1.0, -1e-300)",
    "ps.IMQKernel",
)
_RULES = ("None", "ps.ClosedForm()", "ps.Uniform()", "ps.SoftThreshold(0.5)")
_RULE_EDGES = (
    "ps.CrossEntropy(2, 20, 3)",
    "ps.ClosedForm(0.0)",
    "ps.ClosedForm(1e300)",
    "ps.SoftThreshold(1e300)",
    "ps.SoftThreshold(0.0)",
    "ps.ClosedForm",
    "Rule('wrong length')",
    "Rule('NaN')",
    "Rule('zeros')",
    "Rule('text')",
    "Rule('raises')",
)
_VARIANCES = ("ps.IID()", "ps.BatchMeans()", "ps.BatchMeans(5)", "ps.InitialSequence()")
_FUNCTIONS = (
    "None",
    "minus",
    "{'square': lambda x: np.asarray(x) ** 2}",
    "lambda x: np.asarray(x)[:, 0]",
)
_FUNCTION_EDGES = (
    "faulty['raises']",
    "faulty['wrong shape']",
    "faulty['NaN']",
    "faulty['a number']",
    "faulty['text']",
    "{'zero': faulty['zero']}",
    "{}",
    "{1: minus}",
    "{'': minus, 'x[0]': minus}",
    "[minus, minus]",
    "modifies",
    "lambda x: np.asarray(x) * 1e300",
)


class Values(NamedTuple):
    """Sources of sensible values of an option, and of values at the edge of what it takes."""

    sensible: tuple[str, ...]
    edges: tuple[str, ...] = ()

    @functools.cache  # noqa: B019 - there are few, and they stay
    def strategy(self) -> st.SearchStrategy[str]:
        """Mostly sensible values; those of other kinds now and then."""
        edges = self.edges or JUNK
        kinds = [self.sensible] * 30 + [edges] * 4 + [JUNK]
        return st.sampled_from(kinds).flatmap(st.sampled_from)


def _count(*values: str) -> Values:
    return Values(values, _COUNT_EDGES)


#: By the name of the option, or by "function.option" where it means something of its own.
VALUES: dict[str, Values] = {
    "order": Values(("1", "2", "3", "4"), ("0", "12", "40", *_NO_ORDERS)),
    # Exact arithmetic takes long.
    "GaussianPair.order": Values(("0", "1", "2", "3"), ("5", *_NO_ORDERS)),
    "structure": Values(("'full'", "'diagonal'"), _WORD_EDGES),
    "estimator": Values(("'u'", "'v'"), _WORD_EDGES),
    "basis": Values(("'monomial'", "'hermite'", "'bounded-hermite'"), _WORD_EDGES),
    "psd_l2_test.basis": Values(("'full'", "'interaction-free'"), _WORD_EDGES),
    "resolution": Values(("'order'", "'coordinate'", "'hierarchical'", "'entry'"), _WORD_EDGES),
    "alternative": Values(("'two-sided'", "'greater'"), _WORD_EDGES),
    "standardise": Values(("True", "False", "'whiten'"), _WORD_EDGES),
    "calibration": Values(("'wild-bootstrap'", "'simulation'", "'normal'"), _WORD_EDGES),
    "group": Values(("'posterior'", "'prior'"), _WORD_EDGES),
    "iid": Values(_FLAG, _FLAG_EDGES),
    "minibatch": Values(_FLAG, _FLAG_EDGES),
    "optimise": Values(_FLAG, _FLAG_EDGES),
    "overwrite": Values(_FLAG, _FLAG_EDGES),
    "relative": Values(_FLAG, _FLAG_EDGES),
    "norms": Values(_FLAG, _FLAG_EDGES),
    "constrained": Values((*_FLAG, "None"), _FLAG_EDGES),
    "rng": Values(
        ("0", "1", "np.random.default_rng(3)", "np.random.SeedSequence(3)"),
        ("-1", "2**200", "1.5", "'seed'", "np.random.RandomState(3)", "[1, 2]", "np.int64(3)"),
    ),
    "progress": Values(("None", "no_progress"), ("stops", "1", "'bar'", "lambda: None", "int")),
    # Other processes take seconds to start.
    "check_many.n_jobs": Values(("None", "1"), ("0", "1.5", "'all'")),
    "n_jobs": Values(("None", "1"), ("0", "-2", "2", "1.5", "10**400", "'all'")),
    "adjust": Values(("'holm'", "'benjamini-hochberg'"), _WORD_EDGES),
    "store": Values(
        ("None", "place('kept')"), ("1", "''", "'\\x00'", "place('0.npy')", "place('.')")
    ),
    "verdict": Values(("'rejected'", "'error'"), _WORD_EDGES),
    "cores": _count("1", "2"),
    "split": Values(_SPLITS, _SPLIT_EDGES),
    "variance": Values(_VARIANCES, ("ps.BatchMeans(1)", "ps.BatchMeans(10**6)", "ps.IID")),
    "weights": Values(_RULES, _RULE_EDGES),
    "kernel": Values(_KERNELS, _KERNEL_EDGES),
    "ksdagg_test.kernel": Values(("'imq'", "'gaussian'"), _WORD_EDGES),
    "tolerance": Values(("None", "0.1", "0.5"), _SHARE_EDGES),
    "ridge": Values(("0.0", "0.01", "1.0"), _REAL_EDGES),
    "shrinkage": Values(("None", "0.0", "0.5", "1.0"), _SHARE_EDGES),
    "level": Values(("0.5", "1.0"), _REAL_EDGES),
    "train": Values(("0.2", "0.5"), _SHARE_EDGES),
    "alpha": Values(("0.05", "0.5"), _SHARE_EDGES),
    "medians": Values(("4.0", "1.0"), _REAL_EDGES),
    "degrees_of_freedom": Values(("0.5", "2.0"), _REAL_EDGES),
    "length": Values(("'auto'", "None", "3", "2.5"), _REAL_EDGES),
    "BatchMeans.length": Values(("'auto'", "3", "20"), (*_COUNT_EDGES, "'long'")),
    "bandwidths": Values(
        ("None", "[0.5, 1.0]", "(2.0,)"),
        ("[]", "[0.0]", "[-1.0]", "[nan]", "[1e300, 1e-300]", "'wide'", "1.0", "[1, 1]"),
    ),
    "repeats": _count("1", "2"),
    "n_bootstrap": _count("5", "20", "99"),
    "n_correction": _count("5", "20"),
    "n_simulations": _count("20", "99"),
    "n_locations": _count("1", "3"),
    "n_landmarks": Values(("None", "2", "5"), _COUNT_EDGES),
    "n_features": _count("1", "4"),
    "max_steps": _count("1", "3"),
    "max_bytes": Values(("2**30", "10**6"), ("0", "1", "1000", "-1", "10**400", "1e9")),
    "iterations": _count("1", "5"),
    "candidates": _count("20", "50"),
    "elites": _count("1", "3"),
    "patience": _count("1", "3"),
    "CrossEntropy.tolerance": Values(("0.001", "0.1"), _REAL_EDGES),
    "least_spread": Values(("0.0", "0.1"), _REAL_EDGES),
    "least_weight": Values(("0.0", "0.1"), _REAL_EDGES),
    "RandomSplit.weights": Values(("0.5", "0.2"), _SHARE_EDGES),
    "BlockSplit.weights": Values(("0.5", "0.2"), _SHARE_EDGES),
    "ChainSplit.weights": Values(("0.5", "0.2"), _SHARE_EDGES),
    "gap": Values(("'auto'", "0", "3"), (*_COUNT_EDGES, "None")),
    "Monitor.batch": Values(("None", "20"), (*_COUNT_EDGES, "'auto'")),
    "Monitor.gap": Values(("None", "0", "3"), (*_COUNT_EDGES, "'auto'")),
    "bandwidth": Values(("'median'", "1.0"), (*_REAL_EDGES, "'mean'")),
    "c": Values(("1.0", "0.1"), _REAL_EDGES),
    "beta": Values(("-0.5", "-0.1"), (*_REAL_EDGES, "-1e-320", "-1.0", "-1e308")),
    "names": Values(_NAMES, _NAME_EDGES),
    "var_names": Values(_PICKED, _PICKED_EDGES),
    "coords": Values(("None", "{}"), ("{'axis': 0}", "{1: [2]}", "[('axis', 0)]", "'axis'")),
    "n_draws": _count("1", "50"),
    "thin": _count("1", "2"),
    "drop_first": Values(("0", "5"), (*_COUNT_EDGES, "100")),
    "functions": Values(_FUNCTIONS, _FUNCTION_EDGES),
    "model": Values(("None",), JUNK),
    "logdensity": Values(("None",), JUNK),
    "log_density": Values(
        ("None", "half_square"),
        ("stops", "faulty['wrong shape']", "faulty['NaN']", "faulty['text']", "minus"),
    ),
    "same_target.draws": Values(
        ("rows((40, 2))", "rows((2, 40, 2))", "None"),
        (
            "rows((40, 1))",
            "rows((40, 2), spoilt=nan)",
            "rows((40, 2), scale=1e150)",
            "rows((40, 2), scale=1e-200)",
            "rows((40, 2), law='zeros')",
            "rows((40, 2), law='all magnitudes')",
            "rows((40, 2), dtype='f4')",
            "rows((10, 2))",
            "rows((40,))",
            "'draws'",
            "3",
        ),
    ),
    "false_alarm": Values(("None", "0.01"), _SHARE_EDGES),
    "detect": Values(
        ("(0.2, 0.2)", "[1.0, 0.5]"),
        ("(0.0, 0.1)", "(nan, 0.1)", "0.1", "(1e-320, 1e308)", "{'mean': 0.1}", "('a', 'b')"),
    ),
    "budget": Values(("5000", "20_000"), ("0", "1", "-1", "2.0", "np.int64(3000)")),
    "assert_draws_from.n": Values(("5", "20"), ("0", "1", "-1", "2.0", "10**400", "np.int64(3)")),
    "assert_invariant.draws": Values(
        ("rows((400, 2))", "rows((200, 5, 2))"),
        (
            "rows((400, 1))",
            "rows((400, 2), spoilt=nan)",
            "rows((400, 2), scale=1e150)",
            "rows((400, 2), scale=1e-200)",
            "rows((400, 2), law='zeros')",
            "rows((400, 2), law='all magnitudes')",
            "rows((10, 2))",
            "rows((400,))",
            "'draws'",
        ),
    ),
    "rename": Values(("None", "{}"), ("{'a': 'b'}", "{1: 2}", "'ab'", "{'a': 'b', 'b': 'b'}")),
    "refine.scores": Values(
        ("None", "minus"), ("stops", "faulty['wrong shape']", "faulty['NaN']", "half_square")
    ),
    "refine.functions": Values(
        ("None", "{'half': half_square}", "{'first': lambda x: np.asarray(x)[:, 0]}"),
        ("{'minus': minus}", "{'raises': stops}", "{1: minus}", "[minus]", "{}", "minus"),
    ),
    "transitions": _count("2", "3"),
    "starts": Values(("20", "30"), (*_COUNT_EDGES, "1000")),
    "log_weights": Values(
        ("None", "rows((40,))", "rows((2, 40))"),
        (
            "rows((40,), scale=1e308)",
            "rows((40,), spoilt=nan)",
            "rows((40,), spoilt=-inf)",
            "rows((40,), spoilt=inf)",
            "rows((40,), law='zeros', shift=-inf)",
            "rows((3, 5))",
        ),
    ),
    "facts": Values(
        ("None", "{}", "{'sampler_statistics': {'diverging': np.zeros((2, 40), bool)}}"),
        (
            "{'sampler_statistics': {'diverging': 1}}",
            "{'sampler_statistics': {1: 'x'}}",
            "{'sampler_statistics': {'energy': np.full((2, 40), nan)}}",
            "{'warnings': 'text'}",
            "{'warnings': [1]}",
            "{'log_density': 1}",
            "{'transform': stops}",
            "{'log_density': stops}",
            "{'unknown': 1}",
            "{1: 2}",
        ),
    ),
    "score": Values(("minus", "None"), ("faulty['raises']", "faulty['wrong shape']", "1")),
    "looks": Values(
        ("(150, 240)", "[200, 400]", "(500, 1000)", "'any'"),
        (
            "(40, 80)",
            "()",
            "(0,)",
            "(40, 40)",
            "(80, 40)",
            "(1,)",
            "(2**70,)",
            "[1.5]",
            "'ab'",
            "40",
            "None",
        ),
    ),
    "chains": _count("1", "2"),
    "chain": Values(("None", "0", "1"), _COUNT_EDGES),
    "cache": Values(
        ("None", "place('.')"), ("1", "''", "place('missing')", "'\\x00'", "place('0.npy')")
    ),
    "chain_axis": Values(("None", "0", "1"), _COUNT_EDGES),
    "sample_ndim": Values(("None", "1", "2"), _COUNT_EDGES),
    "max_depth": _count("10"),
    "dimension": _count("1", "2", "50"),
    "delta": Values(("0.0", "0.5", "-3.0"), (*_REAL_EDGES, "1e154", "1e-200")),
    "GaussianPair.variance": Values(("1.0", "0.5", "4.0"), (*_REAL_EDGES, "1e154", "1e-200")),
    "n": _count("2", "100"),
    "mean": Values(
        ("np.zeros(2)", "[0.0, 1.0]", "[0.0]"),
        ("[nan, 0.0]", "[1e300, 1e-300]", "0.0", "[[0.0]]", "['a', 'b']", "[]"),
    ),
    "covariance": Values(
        ("np.eye(2)", "[[2.0, 1.0], [1.0, 2.0]]", "[[1.0]]"),
        (
            "np.zeros((2, 2))",
            "-np.eye(2)",
            "[[1.0, 2.0], [3.0, 4.0]]",
            "1e300 * np.eye(2)",
            "1e-310 * np.eye(2)",
            "np.ones((2, 2))",
            "np.full((2, 2), nan)",
            "[[1.0, 0.0]]",
            "1.0",
        ),
    ),
    "statistic": Values(("1.0", "0.0"), _REAL_EDGES),
    "pvalue": Values(("0.5", "1e-300"), _SHARE_EDGES),
    "method": Values(("'psd'",), _NAME_EDGES),
    "most": _count("1", "2", "20"),
    "compare.iid": Values((*_FLAG, "['a']", "()"), ("['c']", "'a'", "1", "[1]")),
    "compare.cost": Values(
        ("None", "{'a': 1.5}", "{'a': 1, 'b': 2}"),
        ("{'c': 1}", "{'a': 0}", "{'a': nan}", "3", "[]"),
    ),
    "measure": Values(("'discrepancy'", "'means'", "'sds'"), _WORD_EDGES),
    "ax": Values(("None", "new_axes()")),
    "path": Values(("place('page.html')",), ("place('.')", "''", "'\\x00'", "1", "None")),
}
