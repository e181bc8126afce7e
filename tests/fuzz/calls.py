"""One entry for each public function: what it is called with."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

import polystein as ps
from tests.fuzz.data import draws_alone, draws_and_scores, files, one_file, stores
from tests.fuzz.files import WRITERS
from tests.fuzz.options import JUNK, VALUES, Values

Sources = st.SearchStrategy[tuple[str, ...]]
Calls = st.SearchStrategy["Call"]


@dataclass(frozen=True)
class Call:
    """The source of a call: a function, its arguments, its options by name, and its entry."""

    function: str
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    entry: str = ""

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in self.options]
        return f"{self.function}({', '.join([*self.arguments, *named])})"


def public(name: str) -> Any:
    """What a public name stands for; a method is `Class.method`."""
    found: Any = ps
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _values(name: str, option: str) -> Values:
    """Values of an option; of a method's, also those of its class."""
    owner = name.removeprefix("theory.").removeprefix("testing.").partition(".")[0]
    values = VALUES.get(f"{owner}.{option}", VALUES.get(option))
    if values is None:
        raise LookupError(f"tests/fuzz/options.py needs values for the option {option} of {name}")
    return values


#: The default of `rng` is to be random, and calls are repeated. Two functions need `draws`. The
#: defaults of the others take long.
_ALWAYS_GIVEN = ("rng", "n_bootstrap", "n_correction", "transitions", "starts", "draws")


@st.composite
def _call(
    draw: st.DrawFn, name: str, arguments: Sources, options: Sequence[str], needed: Sequence[str]
) -> Call:
    given = draw(arguments)
    # At most three options at a time: each of them may be what the call fails on.
    chosen = draw(st.lists(st.sampled_from(options), max_size=3, unique=True)) if options else []
    chosen = [*needed, *(option for option in chosen if option not in needed)]
    named = tuple((option, draw(_values(name, option).strategy())) for option in chosen)
    return Call(f"ps.{name}", given, named, name)


def entry(
    name: str,
    arguments: Sources | None = None,
    covered: Sequence[str] = (),
    receiver: Calls | None = None,
) -> Calls:
    """Calls of a public name with arguments for the parameters `covered`, and with any options.

    A method is called on what another call answers.
    """
    fixed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    kinds = (*fixed, inspect.Parameter.VAR_KEYWORD)
    parameters = [
        parameter
        for parameter in inspect.signature(public(name)).parameters.values()
        if parameter.kind not in kinds and parameter.name not in (*covered, "self")
    ]
    options = [parameter.name for parameter in parameters]
    for option in options:
        _values(name, option)  # a new option needs values
    needed = [
        one.name for one in parameters if one.default is one.empty or one.name in _ALWAYS_GIVEN
    ]
    calls: Calls = _call(name, st.just(()) if arguments is None else arguments, options, needed)
    if receiver is None:
        return calls
    method = name.rpartition(".")[2]
    return st.builds(
        lambda call, owner: replace(call, function=f"{owner}.{method}"),
        calls,
        receiver,
    )


def _texts(*choices: Sequence[str]) -> Sources:
    """One source for each argument."""
    return st.tuples(*[st.sampled_from(tuple(values)) for values in choices])


_PAIR = ("draws", "scores")
_ROWS = ("rows((40, 2))", "rows((2, 40, 2))", "rows((40, 2), spoilt=nan)", "rows((40,))")
_DISTRIBUTIONS = (
    "scipy.stats.norm()",
    "scipy.stats.multivariate_normal(np.zeros(2))",
    "scipy.stats.poisson(2)",
    "scipy.stats.norm",
    "[scipy.stats.norm(), scipy.stats.expon()]",
)
_MOMENTS = (
    "ps.theory.ProductMoments([0.5], [[[1.25]]])",
    "ps.theory.ProductMoments([nan], [[[1.25]]])",
    "ps.theory.ProductMoments([0.5, 0.5], [[[1.25]]])",
    "ps.theory.ProductMoments(None, 'x')",
)
_TARGET = "facts={'log_density': half_square}"
_REFINED = (
    f"ps.Sample(rows((80, 2)), minus, {_TARGET})",
    f"ps.Sample(rows((2, 60, 2)), minus, {_TARGET})",
    f"ps.Sample(rows((80, 2), scale=1e150), minus, {_TARGET})",
    f"ps.Sample(rows((80, 2), scale=1e-150), minus, {_TARGET})",
    f"ps.Sample(rows((80, 2), law='zeros'), minus, {_TARGET})",
    "ps.Sample(rows((80, 2)), minus, facts={'log_density': stops})",
    "rows((80, 2))",
    "rows((80, 1), spoilt=nan)",
    *_ROWS,
)
_TARGETS = (
    "minus",
    "(half_square, minus)",
    "(half_square, None)",
    "lambda x: -2.0 * x",
    "lambda x: 1.0 - x",
    "faulty['NaN']",
    "faulty['wrong shape']",
    "faulty['zero']",
    "faulty['single precision']",
    f"ps.Sample(rows((80, 2)), minus, {_TARGET})",
    "ps.Sample(rows((2, 40, 2)), minus, names=['a', 'b'])",
    f"ps.Sample(rows((80, 2), scale=1e150), minus, {_TARGET})",
    "ps.Sample(rows((80, 2)), minus, facts={'log_density': stops})",
)
_SAMPLERS = (
    "lambda seed, n: np.random.default_rng(seed).normal(size=(n, 2))",
    "lambda seed, n: 1e150 * np.random.default_rng(seed).normal(size=(n, 1))",
    "lambda seed, n: np.random.default_rng(seed).normal(size=(n, 2)).astype('f4')",
    "lambda seed, n: np.random.default_rng(seed).integers(2, size=(n, 2))",
    "lambda seed, n: np.full((n, 1), nan)",
    "lambda seed, n: np.zeros((n, 2))",
    "lambda seed, n: np.zeros((n + 1, 2))",
)
_KERNELS = (
    "lambda x, rng: 0.8 * x + 0.6 * rng.normal(size=x.shape)",
    "lambda x, rng: x",
    "lambda x, rng: 1e200 * x",
    "lambda x, rng: x[1:]",
    "lambda x, rng: x * nan",
)
_FITS = (
    "{'a': (rows((2, 40, 2)), minus), 'b\\n': (rows((40, 2)), rows((40, 2), factor=-1.0))}",
    "{'a': lambda: (rows((40, 2)), minus), 'b': minus, '\\x1b[31m': 'no such file'}",
    "{'a': (rows((40, 2)), faulty['raises']), 'b': (rows((40, 2)), faulty['NaN'])}",
    "{'a': place('.'), 'b': None, 'c': (), 'd': stops, 'e': ps}",
)
_SETS = (
    "{'a': (rows((2, 40, 2)), minus), 'b': (rows((40, 2), scale=2.0), minus)}",
    "{'a': (rows((40, 2)), minus), 'b\\n': (rows((60, 2)), faulty['NaN'])}",
    "{'a': (rows((40, 1)), minus), 'b': (rows((40, 2)), minus)}",
)
_COMPARED = (
    "ps.compare({'a': (rows((40, 2)), minus), 'b': (rows((40, 2), scale=2.0), minus)})",
    "ps.SamplerComparison.from_dict(stored('samplers'))",
)
_RESULTS = ("result()", "result(0.0, ess=nan)", "ps.GofResult.from_dict(stored('check'))")
_WEIGHTED = "result(weights={'x': 0.6, 'score': -0.8})"
_EFFECTS = ("ps.EffectTable.from_dict(stored('effects'))", "ps.EffectTable((), 0)", _RESULTS[2])
_DAMAGE = ("...", *JUNK)
#: Parts of a result that only the library puts together.
_MADE_BY_TESTS = (
    *("weights", "components", "evidence", "settings", "warnings", "reasons", "diagnostics"),
    *("tolerance", "tolerance_reason", "effect_table", "n_train", "n_gap", "n_test", "ess"),
    *("statistic_name", "n_chains", "n_draws", "noticeable_faults"),
)


def _stored(*kinds: str) -> Sources:
    whole = [f"stored({kind!r})" for kind in kinds]
    damaged = st.builds(
        lambda kind, place, value: f"stored({kind!r}, {place}, {value})",
        st.sampled_from(kinds),
        st.integers(0, 200),
        st.sampled_from(_DAMAGE),
    )
    return st.one_of(st.sampled_from([*whole, *JUNK]), damaged, damaged, damaged).map(
        lambda text: (text,)
    )


def _receiver(*texts: str) -> Calls:
    """Objects whose methods are called, as source."""
    return st.sampled_from(texts)  # type: ignore[return-value]


_result, _pair = (
    _receiver(*_RESULTS),
    _receiver(
        "ps.theory.GaussianPair(2, 0.5, 1.2)",
        "ps.theory.GaussianPair(3, 1e100, 1e-100)",
        "ps.theory.GaussianPair(10**9, 0.0, 1.0)",
    ),
)
_moments = _receiver(
    "ps.SteinMoments(2)",
    "ps.SteinMoments(3, structure='diagonal').update(rows((40, 2)), rows((40, 2), factor=-1.0))",
    "ps.SteinMoments(1, norms=True).update(rows((40, 2), scale=1e150), minus)",
)
_monitor = _receiver(
    "ps.Monitor(minus, 2, looks=(150, 240))",
    "ps.Monitor(minus, 2, looks='any', batch=20)",
    "monitor(1)",
    "monitor(2, None, 'diagonal')",
    "ps.Monitor.load(stored('state'), minus)",
)
_table = _receiver("ps.EffectTable.from_dict(stored('effects'))", "ps.EffectTable((), 0)")
_refinement = _receiver("refinement()", "ps.Refinement.from_dict(stored('refinement'))")
_expected = _receiver("ps.expectations(rows((40, 2)), minus)", "ps.ExpectationTable(())")
_samplers = _receiver(*_COMPARED)
_checks = _receiver("ps.check_many({'a': (rows((2, 40, 1)), minus), 'b': 3})")
_compared = _receiver(
    "ps.same_target(minus, lambda x: -2.0 * x, draws=rows((40, 2)))",
    "ps.TargetComparison.from_dict(stored('comparison'))",
)
_sample = _receiver(
    "ps.Sample(rows((40, 2)), minus, names=['a', 'b'])", "ps.Sample(rows((2, 40, 1)), minus)"
)
_TESTS = (
    *("check", "effects", "expectations", "psd_test", "lambda_psd_test", "psd_bootstrap_test"),
    *("psd", "lambda_psd", "o_psd", "fssd_test", "ksd", "ksd_test", "ksdagg_test"),
    *("nystrom_ksd_test", "psd_l2_test", "rfsd_test", "Sample", "theory.snr_squared"),
    *("plot_moments", "plot_chains"),
)
_RULES = (
    *("IID", "BatchMeans", "InitialSequence", "BlockSplit", "ChainSplit", "RandomSplit"),
    *("ClosedForm", "CrossEntropy", "SoftThreshold", "Uniform", "GaussianKernel", "IMQKernel"),
    *("theory.GaussianPair", "theory.printed_law", "theory.corrected_law", "SteinMoments"),
)
_PAIR_METHODS = ("stein_moments", "psd", "zetas", "snr_squared_u", "snr_squared_z")
_MORE_PAIR_METHODS = ("feature_moments", "lambda_snr_squared", "chi_square_divergence", "o_psd")
_PLAIN = {"Monitor.discrepancy": _monitor, "Monitor.state_dict": _monitor} | {
    "SteinMoments.finalise": _moments,
    "GofResult.explain": _result,
    "GofResult.to_dict": _result,
    "GofResult.rejected": _result,
    "GofResult.verdict_at": _result,
    "GofResult.to_html": _result,
    "GofResult.plot": _result,
    "GofResult.summary": _result,
    "GofResult.schema": _result,
    "EffectTable.to_dict": _table,
    "EffectTable.to_dataframe": _table,
    "EffectTable.within": _table,
    "ExpectationTable.to_dict": _expected,
    "ExpectationTable.to_dataframe": _expected,
    "Sample.select": _sample,
    **{f"CheckTable.{name}": _checks for name in ("to_dict", "to_html", "count", "schema")},
    "CheckTable.to_dataframe": _checks,
    **{f"SamplerComparison.{name}": _samplers for name in ("to_dict", "to_html", "schema")},
    **{f"SamplerComparison.{name}": _samplers for name in ("to_dataframe", "plot")},
}
_COMMANDS = ("'check'", "'test'")
_SWITCHES = (
    *("'--json'", "'--alpha=0.5'", "'--alpha=nan'", "'--seed=-1'", "'--thin=3'", "'--thin=0'"),
    *("'--drop-first=10'", "'--var-names=a'", "'--var-names=['", "'--iid'", "'--tolerance=0.1'"),
    *("'--order=3'", "'--order=0'", "'--method=psd'", "'--jobs=0'", "'--unknown'", "'--html='"),
    *("'--model=m:f'", "'--model='", "'--many'", "'--store=kept'", "'--adjust=holm'"),
)

ENTRIES: dict[str, Calls] = {
    **{name: entry(name, draws_and_scores, _PAIR) for name in _TESTS},
    **{name: entry(name) for name in _RULES},
    **{name: entry(name, receiver=receiver) for name, receiver in _PLAIN.items()},
    **{
        f"theory.GaussianPair.{name}": entry(f"theory.GaussianPair.{name}", receiver=_pair)
        for name in (*_PAIR_METHODS, *_MORE_PAIR_METHODS)
    },
    "CrossEntropy.published": entry("CrossEntropy.published"),
    "theory.moment_differences": entry(
        "theory.moment_differences", st.one_of(draws_alone, _texts(_MOMENTS))
    ),
    "GofResult": entry("GofResult", covered=_MADE_BY_TESTS),
    "check_many": entry("check_many", _texts((*_FITS, *_FITS, *JUNK)), ("fits",)),
    "CheckTable": entry("CheckTable", _texts(("()", *JUNK)), ("fits",)),
    "CheckTable.from_dict": entry("CheckTable.from_dict", _stored("many"), ("values",)),
    "compare": entry("compare", _texts((*_SETS * 9, *_FITS, *JUNK)), ("sets",)),
    "SamplerComparison": entry(
        "SamplerComparison", covered=tuple(ps.SamplerComparison.__dataclass_fields__)
    ),
    "SamplerComparison.from_dict": entry(
        "SamplerComparison.from_dict", _stored("samplers"), ("values",)
    ),
    "SamplerComparison.difference": entry(
        "SamplerComparison.difference",
        _texts(("'a'", *JUNK), ("'b'", *JUNK)),
        ("first", "second"),
        _samplers,
    ),
    "plot_compare": entry("plot_compare", _texts((*_COMPARED * 9, *JUNK))),
    "Monitor": entry("Monitor"),
    "Monitor.update": entry("Monitor.update", draws_and_scores, receiver=_monitor),
    "Monitor.load": entry("Monitor.load", _stored("state"), ("state",)),
    "SteinMoments.update": entry("SteinMoments.update", draws_and_scores, receiver=_moments),
    "SteinMoments.merge": entry(
        "SteinMoments.merge", _texts(("ps.SteinMoments(2)", *JUNK)), ("other",), _moments
    ),
    "EffectTable": entry(
        "EffectTable",
        _texts(("()",), ("0", "3")),
        ("rows", "looks", "hint", "complete", "action", "own_names", "unconstrained", "refine"),
    ),
    "ExpectationTable": entry("ExpectationTable", _texts(("()",)), ("rows",)),
    "GofResult.from_dict": entry("GofResult.from_dict", _stored("check", "test"), ("values",)),
    "EffectTable.from_dict": entry("EffectTable.from_dict", _stored("effects"), ("values",)),
    "refine": entry("refine", _texts((*_REFINED, *JUNK)), ("draws",)),
    "Refinement": entry("Refinement", covered=tuple(ps.Refinement.__dataclass_fields__)),
    "Refinement.from_dict": entry("Refinement.from_dict", _stored("refinement"), ("values",)),
    "Refinement.to_dict": entry("Refinement.to_dict", receiver=_refinement),
    "same_target": entry("same_target", _texts((*_TARGETS * 9, *JUNK), (*_TARGETS * 9, *JUNK))),
    "TargetComparison": entry(
        "TargetComparison", covered=tuple(ps.TargetComparison.__dataclass_fields__)
    ),
    "TargetComparison.from_dict": entry(
        "TargetComparison.from_dict", _stored("comparison"), ("values",)
    ),
    "TargetComparison.schema": entry("TargetComparison.schema", receiver=_compared),
    "TargetComparison.to_dict": entry("TargetComparison.to_dict", receiver=_compared),
    "TargetComparison.to_dataframe": entry("TargetComparison.to_dataframe", receiver=_compared),
    "testing.assert_draws_from": entry(
        "testing.assert_draws_from",
        _texts((*_SAMPLERS * 9, *JUNK), ("minus", *_TARGETS)),
        ("sampler", "target"),
    ),
    "testing.assert_invariant": entry(
        "testing.assert_invariant",
        _texts((*_KERNELS * 9, *JUNK), ("minus", *_TARGETS)),
        ("kernel", "target"),
    ),
    "Refinement.schema": entry("Refinement.schema", receiver=_refinement),
    "Refinement.to_html": entry("Refinement.to_html", receiver=_refinement),
    "Refinement.verdict_at": entry("Refinement.verdict_at", receiver=_refinement),
    "plot_effects": entry("plot_effects", _texts((*_EFFECTS * 20, *JUNK))),
    "plot_evidence": entry("plot_evidence", _texts((*_RESULTS * 20, *JUNK))),
    "plot_weights": entry("plot_weights", _texts((*(*_RESULTS, _WEIGHTED) * 20, *JUNK))),
    "to_arviz": entry("to_arviz", _texts((*_RESULTS, *JUNK), JUNK), ("result", "data")),
    "from_file": entry("from_file", files(*WRITERS), ("path", "scores")),
    "from_cmdstan": entry(
        "from_cmdstan", files("stan", "stan", *WRITERS).map(lambda pair: pair[:1]), ("files",)
    ),
    "from_store": entry("from_store", st.one_of(stores, files("npy", "parquet")), _PAIR),
    "from_scipy": entry(
        "from_scipy", _texts((*_DISTRIBUTIONS, *JUNK), (*_ROWS, *JUNK)), ("distribution", "draws")
    ),
    "from_torch": entry(
        "from_torch", _texts(("minus", *JUNK), (*_ROWS, *JUNK)), ("log_prob", "draws")
    ),
    "from_jax": entry(
        "from_jax", _texts(("minus", *JUNK), (*_ROWS, *JUNK)), ("logdensity", "draws")
    ),
    "from_bridgestan": entry("from_bridgestan", _texts(JUNK, (*_ROWS, *JUNK)), ("model", "draws")),
    "from_pystan": entry("from_pystan", _texts(JUNK, JUNK), ("posterior", "fit")),
    "from_pymc": entry("from_pymc", _texts(JUNK, JUNK), ("model", "idata")),
    "from_arviz": entry("from_arviz", _texts(JUNK, (*_ROWS, *JUNK)), ("data", "scores")),
    "from_blackjax": entry("from_blackjax", _texts(JUNK, JUNK), ("states", "info")),
    "from_nutpie": entry("from_nutpie", _texts(JUNK), ("trace",)),
    "from_numpyro": entry("from_numpyro", _texts(JUNK), ("mcmc",)),
    "the command line": st.builds(
        lambda command, one, two, switches: Call(
            "command", (command, one, *([two] if two else []), *switches), (), "the command line"
        ),
        st.sampled_from(_COMMANDS),
        one_file(tuple(WRITERS)),
        st.one_of(st.none(), one_file(tuple(WRITERS))),
        st.lists(st.sampled_from(_SWITCHES), max_size=2),
    ),
}
#: Functions with the most options, and those that read files, are called more often.
_OFTEN = {*_TESTS, "from_file", "from_store", "Monitor.update", "SteinMoments.update"}
calls: Calls = st.sampled_from(
    [name for name in ENTRIES for _ in range(4 if name in _OFTEN else 1)]
).flatmap(ENTRIES.__getitem__)
