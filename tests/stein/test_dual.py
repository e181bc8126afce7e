"""The witness by products with training rows: kept or read again, and of the right size."""

from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row
from polystein.errors import DegenerateError
from polystein.methods.gof import fit_witness
from polystein.stein import dual
from polystein.stein.basis import LinearAndBounded, Monomial
from polystein.stein.dual import HeldRows, ReadRows, fit_dual
from tests.conftest import arbitrary_rows, arbitrary_weights


def sample(weighted: bool) -> ps.Sample:
    log_weights = arbitrary_weights(23)[0] if weighted else None
    return ps.Sample(*arbitrary_rows(23, 15, seed=1), log_weights=log_weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("basis", [Monomial(3), LinearAndBounded(4)], ids=repr)
def test_rows_that_are_read_again_give_the_features_of_rows_that_are_kept(
    basis: Any, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, rows = sample(weighted), arbitrary_rows(12, 15, seed=2)
    frame = Frame(np.full(15, 0.1), np.full(15, 1.3))
    held = fit_dual(train, every_row(train), basis, frame, 23)
    monkeypatch.setattr(dual, "MOST_HELD", 0)
    monkeypatch.setattr(dual, "READ_AT_ONCE", 45)
    monkeypatch.setattr(dual, "FEWEST_READ", 1)
    read = fit_dual(train, every_row(train), basis, frame, 23)
    assert held is not None
    assert read is not None
    assert (type(held.training), type(read.training)) == (HeldRows, ReadRows)
    np.testing.assert_allclose(read.project(*rows), held.project(*rows), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_normalised_features_are_those_of_the_primal_form(weighted: bool) -> None:
    train, rows = sample(weighted), arbitrary_rows(12, 15, seed=2)
    basis, frame = Monomial(2), Frame(np.full(15, 0.1), np.full(15, 1.3))
    primal = fit_witness(train, every_row(train), basis, frame=frame, count=10**9)
    found = fit_dual(train, every_row(train), basis, frame, 23)
    assert found is not None
    features = found.normalised(train, list(every_row(train))).project(*rows)
    np.testing.assert_allclose(features, primal.project(*rows), rtol=1e-10, atol=1e-12)


def test_the_derivatives_alone_have_a_size() -> None:
    train = ps.Sample(np.zeros((23, 15)), np.zeros((23, 15)))
    found = fit_dual(train, every_row(train), Monomial(2), Frame(np.zeros(15), np.ones(15)), 23)
    assert found is not None
    # At the origin x^2 and its derivative are 0, and those of x are 1: the trace is left.
    assert found.normalised(train, list(every_row(train))).factor == pytest.approx(15**-0.5)


def test_draws_far_from_the_origin_need_the_primal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, scores = arbitrary_rows(23, 15, seed=1)
    far = ps.Sample(draws + 100.0, scores)
    options = (list(every_row(far)), Monomial(2), dual.RAW, 23)
    assert fit_dual(far, *options) is None
    monkeypatch.setattr(dual, "MOST_HELD", 0)
    assert fit_dual(far, *options) is None


def test_no_moments_are_an_error() -> None:
    class Zero(Monomial):
        def terms(self, draws: Any) -> Any:
            for term in super().terms(draws):
                yield term._replace(values=0.0 * term.values, factor=0.0)

    train = ps.Sample(np.ones((23, 15)), np.zeros((23, 15)))
    found = fit_dual(train, every_row(train), Zero(1), Frame(np.zeros(15), np.ones(15)), 23)
    assert found is not None
    with pytest.raises(DegenerateError, match="every Stein moment of the training rows is exactly"):
        found.normalised(train, list(every_row(train)))
