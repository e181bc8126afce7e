"""What is passed in the place of something else is an error that names the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.adapters.assemble import batched, draws_array, pointwise

X = np.random.default_rng(0).standard_normal((200, 2))
CHAINS = X.reshape(2, 100, 2)
ARRAY = np.array([1.0, 2.0])

TOLD: dict[str, Callable[..., Any]] = {
    "check": ps.check,
    "psd": lambda *rows, **options: ps.psd(*rows, order=2, **options),
    "lambda_psd": lambda *rows, **options: ps.lambda_psd(*rows, order=2, **options),
    "o_psd": lambda *rows, **options: ps.o_psd(*rows, order=2, **options),
    "psd_test": lambda *rows, **options: ps.psd_test(*rows, order=2, **options),
    "lambda_psd_test": lambda *rows, **options: ps.lambda_psd_test(*rows, order=2, **options),
    "bootstrap": lambda *rows, **options: ps.psd_bootstrap_test(*rows, order=2, **options),
    "ksd_test": ps.ksd_test,
    "ksdagg_test": ps.ksdagg_test,
    "nystrom_ksd_test": ps.nystrom_ksd_test,
    "batched": lambda x, _, progress: batched(np.negative, x, progress),
    "pointwise": lambda x, _, progress: pointwise(np.negative, x, progress),
    "blocks": lambda x, s, progress: ps.from_store(lambda: iter([(x, s)]), progress=progress),
}


@pytest.mark.parametrize("progress", [1, "yes", True, ARRAY])
@pytest.mark.parametrize("name", TOLD)
def test_progress_that_is_no_function(name: str, progress: object) -> None:
    with pytest.raises(ps.InputError, match=r"^`progress` must be a function .*; got "):
        TOLD[name](X, -X, progress=progress)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "merge": (lambda: ps.SteinMoments(2).merge(1), "`other` must be a SteinMoments; got a int"),
    "norms": (lambda: ps.SteinMoments(2, norms=ARRAY), "`norms` must be True or False"),
    "to_arviz": (lambda: ps.to_arviz(1), "`result` must be a GofResult, .* got a "),
    "bridgestan": (lambda: ps.from_bridgestan(1, X), "`model` must be a bridgestan.StanModel; got"),
    "pystan": (lambda: ps.from_pystan(1, 1), "`posterior` must be what `stan.build` returned"),
    "scipy": (lambda: ps.from_scipy(1, 1), "`draws` must have the shape .* got \\(\\)"),
    "draws of text": (lambda: ps.from_scipy(1, "x"), "`draws` must hold real numbers"),
    "draws of libraries": (lambda: draws_array(object()), "`draws` must hold real numbers"),
    "a path": (lambda: ps.from_file(1), "`path` must be a path, a str or os.PathLike; got 1"),
    "paths": (
        lambda: ps.from_cmdstan(X),
        "`files` must be a path, a str or os.PathLike; got",
    ),
    "a page": (lambda: ps.check(CHAINS, -CHAINS).to_html(1.5), "`path` must be a path"),
    "a store": (lambda: ps.from_store(X, 1), "`scores` must have the shape"),
    "names": (lambda: ps.expectations(X, -X, names=1), "`names` must be names of coordinates"),
    "structure": (
        lambda: ps.psd_test(X, -X, order=2, structure=ARRAY),
        "`structure` must be 'full' or 'diagonal'",
    ),
    "structure of lambda_psd": (
        lambda: ps.lambda_psd(X, -X, order=2, structure=ARRAY),
        "`structure` must be 'full' or 'diagonal'",
    ),
    "order": (
        lambda: ps.psd_test(X, -X, order=10**400),
        "`order` must be at most 1000; got 1000",
    ),
    "a large order": (lambda: ps.psd(X, -X, order=1001), "`order` must be at most 1000; got 1001"),
    "a count": (
        lambda: ps.ksd_test(X, -X, n_bootstrap=10**400),
        "`n_bootstrap` must be at most 1,000,000; got 1000",
    ),
    "split": (lambda: ps.psd_test(X, -X, order=2, split=ARRAY), "`split` must be RandomSplit"),
    "split of bytes": (lambda: ps.psd_test(X, -X, order=2, split=b"x"), "`split` must be Random"),
    "gap": (lambda: ps.BlockSplit(gap=ARRAY), "`gap` must be an integer >= 0 or 'auto'"),
    "length": (
        lambda: ps.BatchMeans(length=ARRAY),
        "`length` must be a positive integer or",
    ),
    "no columns": (
        lambda: ps.Monitor(np.negative, 2, looks=[200, 400]).update(np.zeros((20, 0))),
        r"`draws` must not be empty; got the shape \(1, 20, 0\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_argument_is_named(name: str) -> None:
    call, words = WRONG[name]
    with pytest.raises(ps.InputError, match=f"^{words}"):
        call()


STORED = ps.check(CHAINS, -CHAINS, rng=0)
STORED_WITH_EFFECTS = {**STORED.to_dict(), "effects": STORED.effects.to_dict()}
#: Results that were stored before there were such fields do not have them.
LATER = {"verdict", "reasons", "diagnostics", "effects", "noticeable", "n_chains", "n_draws"}
REQUIRED = sorted(set(STORED_WITH_EFFECTS) - LATER)


@pytest.mark.parametrize("name", sorted(set(REQUIRED) - {"tolerance", "tolerance_reason"}))
def test_a_result_without_some_of_its_content(name: str) -> None:
    values = {key: value for key, value in STORED_WITH_EFFECTS.items() if key != name}
    with pytest.raises(ps.InputError, match=r"^`values` must .*"):
        ps.GofResult.from_dict(values)


@pytest.mark.parametrize("damaged", [1, "x", [1], {"a": 1}, float("nan")])
@pytest.mark.parametrize("name", sorted(set(STORED_WITH_EFFECTS) - {"verdict", "tolerance"}))
def test_a_damaged_result_is_refused_or_read(name: str, damaged: object) -> None:
    """A value of the right kind cannot be told from the one that was there."""
    try:
        result = ps.GofResult.from_dict({**STORED_WITH_EFFECTS, name: damaged})
    except ps.InputError:
        return
    assert isinstance(repr(result), str)


@pytest.mark.parametrize("values", [1, None, "x", [], {}])
def test_what_is_no_result_is_refused(values: Any) -> None:
    with pytest.raises(ps.InputError, match=r"^`values` must (be what|come from) `to_dict`"):
        ps.GofResult.from_dict(values)
    with pytest.raises(ps.InputError, match=r"^`values` must be what `to_dict` gave"):
        ps.EffectTable.from_dict(values)


def test_a_statistic_that_was_not_finite_is_read() -> None:
    result = ps.GofResult.from_dict({**STORED.to_dict(), "statistic": None})
    assert np.isnan(result.statistic)
