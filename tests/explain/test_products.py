"""Sums that coordinates and pairs share, beside those of each design by itself."""

import numpy as np
import pytest

import polystein as ps
from polystein.data.coordinates import Frame
from polystein.data.passes import every_row, run_pass
from polystein.explain import products
from polystein.explain.designs import CoordinateDesign, JointDesign, MeansDesign, PairDesign
from polystein.explain.gram import Folds, GramPass
from polystein.explain.products import ProductSums, share_products

RNG = np.random.default_rng(5)
DRAWS = RNG.standard_normal((203, 4)) @ RNG.standard_normal((4, 4)) + 1.0
SCORES = RNG.standard_normal((203, 4)) - 0.5 * DRAWS
FRAME = Frame(DRAWS.mean(axis=0), DRAWS.std(axis=0))
DESIGNS = (
    PairDesign(4, 0, 3),
    CoordinateDesign(4, 2),
    CoordinateDesign(4, 0),
    PairDesign(4, 1, 3),
)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("designs", [DESIGNS, DESIGNS[:1], DESIGNS[1:3]])
def test_shared_products_give_the_matrices_of_each_design(
    designs: tuple[CoordinateDesign | PairDesign, ...],
    weighted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(products, "MOST_PRODUCTS", 70)  # rows in pieces
    weights = RNG.standard_normal(203) if weighted else None
    source = ps.Sample(DRAWS, SCORES, log_weights=weights)
    folds = Folds(source.layout)
    shared, single = ProductSums(designs, FRAME, folds), GramPass(designs, FRAME, folds)
    run_pass(source, every_row(source), shared, single)
    for found, expected in zip(shared.matrices(), single.matrices, strict=True):
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_designs_with_other_products_go_by_themselves() -> None:
    assert all(share_products(design) for design in DESIGNS)
    for design in (MeansDesign(4), CoordinateDesign(4, 0, shape=True), JointDesign(4)):
        assert not share_products(design)
    assert not share_products(CoordinateDesign(200, 0))
