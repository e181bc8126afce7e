"""Tables of results as data frames of the real pandas."""

import numpy as np

import polystein as ps


def test_a_comparison_has_a_row_for_each_set() -> None:
    right, wide = np.random.default_rng(0).standard_normal((2, 2, 200, 2)) * [[[[1.0]]], [[[1.5]]]]
    found = ps.compare({"right": (right, -right), "wide": (wide, -wide)})
    frame = found.to_dataframe()
    assert frame["name"].tolist() == ["right", "wide"]
    assert frame["rank"].tolist() == ["1", "2"]
    assert frame["sds_lower"][1] == found["wide"].sds.lower
