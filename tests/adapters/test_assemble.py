"""What adapters share: names of coordinates, arrays side by side, and warnings of precision."""

import warnings

import numpy as np
import pytest

from polystein.adapters.assemble import (
    assemble,
    axis_labels,
    coordinate_labels,
    facts_of_fit,
    flat_draws,
    single_precision_warnings,
    stan_names,
    stan_parts,
    unseen_warnings,
)
from polystein.adapters.nutpie import nutpie_parts
from polystein.data.selection import Selection
from polystein.errors import PolysteinWarning, ScoreWarning
from polystein.inference.pareto import psis_index


def test_indices_and_labels() -> None:
    assert coordinate_labels("mu", ()) == ["mu"]
    assert coordinate_labels("z", (2,)) == ["z[0]", "z[1]"]
    assert coordinate_labels("z", (1, 2), [["a"], ["u", "v"]]) == ["z[a, u]", "z[a, v]"]


def test_notation_of_nutpie() -> None:
    assert nutpie_parts("z_0.1", ["z"]) == ("z", (0, 1))
    assert nutpie_parts("tau_log___0", []) == ("tau_log__", (0,))
    assert nutpie_parts("beta_0", ["beta_0"]) == ("beta_0", ())
    assert nutpie_parts("mu", []) == ("mu", ())


def test_notation_of_stan() -> None:
    assert stan_parts("theta.1.2") == ("theta", (0, 1))
    assert stan_names(["mu", "theta.1.2"]) == ["mu", "theta[1, 2]"]


def test_arrays_side_by_side() -> None:
    values = flat_draws([np.zeros((2, 5)), np.ones((2, 5, 3))])
    assert values.shape == (2, 5, 4)
    assert values[0, 0].tolist() == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", ["float32", "torch.float16", "bfloat16", np.dtype("float32")])
def test_single_precision_is_warned_about(dtype: object) -> None:
    with pytest.warns(ScoreWarning, match="gradients were computed in float32.* Convert") as caught:
        found = single_precision_warnings(dtype, "gradients", "Convert them.")
    assert found == (str(caught[0].message),)


@pytest.mark.parametrize("dtype", ["float64", "torch.float64", np.dtype("float64")])
def test_double_precision_is_not(dtype: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert single_precision_warnings(dtype, "gradients", "Convert them.") == ()


def test_labels_by_axis_come_in_the_order_of_names() -> None:
    axes = [("i", ["a", "b"]), ("j", [0, 1])]
    found = axis_labels(axes)
    assert [f"z[{one['i']}, {one['j']}]" for one in found] == coordinate_labels(
        "z", (2, 2), [["a", "b"], [0, 1]]
    )
    assert axis_labels([], 2) == [{}, {}]


def test_draws_of_a_fit_are_independent_rows() -> None:
    draws = np.random.default_rng(0).standard_normal((2, 500, 3))
    ratios = 0.3 * draws[..., 0] ** 2
    sample = assemble(draws, -draws, None, Selection(), known=facts_of_fit(ratios))
    assert sample.draws.shape == (1000, 3)
    assert sample.facts.independent
    assert sample.facts.pareto_k == psis_index(ratios.reshape(-1))
    assert facts_of_fit(np.zeros(100)).pareto_k is None
    assert facts_of_fit().pareto_k is None


def test_discrete_variables_are_said_not_to_be_seen() -> None:
    assert unseen_warnings([]) == ()
    with pytest.warns(PolysteinWarning, match="k is discrete and has no score.*does not see it"):
        (words,) = unseen_warnings(["k"])
    assert words.endswith("given its draws.")
    with pytest.warns(PolysteinWarning, match="k, m are discrete and have no score.*see them"):
        unseen_warnings(["k", "m"])
