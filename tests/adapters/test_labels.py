"""Names of coordinates in every library's notation."""

import numpy as np

from polystein.adapters.labels import (
    coordinate_labels,
    flattened,
    nutpie_parts,
    stan_names,
    stan_parts,
)


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
    first, second = np.zeros((2, 5)), np.ones((2, 5, 3))
    values, names = flattened({"a": first, "b": second})
    assert values.shape == (2, 5, 4)
    assert names == ["a", "b[0]", "b[1]", "b[2]"]
    assert values[0, 0].tolist() == [0.0, 1.0, 1.0, 1.0]
