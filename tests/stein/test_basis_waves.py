"""Waves and functions of magnitude: values, derivatives and names."""

import numpy as np
import pytest

from polystein.stein.basis import Waves, magnitude_functions

FREQUENCIES = (1.5, 3.0, 6.0, 12.0, 2.0, 4.0, 8.0)


def test_waves_are_sines_and_cosines_with_their_derivatives() -> None:
    x = np.random.default_rng(0).standard_normal((50, 3)) * 3.0
    terms = list(Waves().terms(x))
    assert len(terms) == Waves().order == len(Waves().names) == len(Waves().words) == 14
    for w, sine, cosine in zip(FREQUENCIES, terms[::2], terms[1::2], strict=True):
        assert sine.derivative is not None
        assert cosine.derivative is not None
        assert sine.values == pytest.approx(np.sin(w * x), abs=1e-12)
        assert sine.factor * sine.derivative == pytest.approx(w * np.cos(w * x), abs=1e-11)
        assert cosine.values == pytest.approx(np.cos(w * x), abs=1e-12)
        assert cosine.factor * cosine.derivative == pytest.approx(-w * np.sin(w * x), abs=1e-11)
    assert Waves().names[:4] == ("sin 1.5x", "cos 1.5x", "sin 3x", "cos 3x")


def test_magnitudes_have_an_odd_and_an_even_function() -> None:
    x = np.linspace(-4.0, 4.0, 41)[:, None]
    odd, even = magnitude_functions(x)
    assert odd.derivative is not None
    assert odd.values == pytest.approx(np.tanh(x), rel=1e-12)
    assert odd.factor * odd.derivative == pytest.approx(1.0 / np.cosh(x) ** 2, rel=1e-10)
    assert even == pytest.approx(1.0 / np.cosh(x) ** 2, rel=1e-10)
    assert odd.values[::-1] == pytest.approx(-odd.values)
    assert even[::-1] == pytest.approx(even)
