"""Quadratic forms on the flips: when they are judged, and how a direction is named."""

import numpy as np
import pytest

from polystein.methods.check.forms import FlippedForm, direction_words, forms, named_places
from tests.methods.check.sums import random_sums

KEPT = np.arange(2)


def test_a_direction_has_at_most_three_names() -> None:
    names = ["mu", "tau", "a", "b"]
    words = direction_words(np.array([1.0, 0.97, -0.5, 0.4]), names)
    assert words == "mainly `mu` + `tau` - 0.5 `a`"
    assert direction_words(np.array([0.2, 0.0, -2.0, 0.1]), names) == "mainly `a`"
    assert direction_words(np.zeros(4), names) == "mainly `mu`"
    assert named_places(np.array([0.2, 0.0, -2.0, 1.0])) == [2, 3]
    assert named_places(np.zeros(4)) == [0]


def test_a_direction_of_many_coordinates_is_not_mainly_three() -> None:
    names = [f"x[{j}]" for j in range(200)]
    assert direction_words(np.ones(200), names).endswith("and 197 more alike")
    few = np.array([1.0, 1.0, 1.0] + [0.2] * 197)
    assert direction_words(few, names) == "`x[0]` + `x[1]` + `x[2]` and many small ones"


def test_forms_of_few_batches_are_not_judged() -> None:
    sums = random_sums(np.random.default_rng(0), 30, 2)
    sums.effective = 7.9
    assert not any(FlippedForm(form, sums).is_judged for form in forms(sums, KEPT, metric=True))


def test_draws_are_deflated_once_and_flips_never() -> None:
    """A ramp within every chain: what the flips see of its spread is a part of it."""
    rng = np.random.default_rng(2)
    sums = random_sums(rng, 256, 2, chains=np.repeat(np.arange(4), 64))
    for table in (sums.diagonal, next(sums.pairs(1))):
        noise = rng.standard_normal(table.shape)
        for k in range(1, 256):
            noise[k] += 0.8 * noise[k - 1]
        table[:] = noise
    sums.score_products = sums.diagonal[:, 0].T @ sums.diagonal[:, 0]
    form = FlippedForm(next(forms(sums, KEPT, metric=True)), sums)
    signs = np.ones((3, 256))
    form.flip(signs)
    form.flip(signs)
    first, *others = form._found[0].tolist() + form._found[1].tolist()
    assert form.is_judged
    assert len(set(others)) == 1
    assert first == pytest.approx(form.deflation * others[0])
    assert form.deflation < 1.0
