"""Rules for independent rows that are given chains."""

import numpy as np
import pytest

import polystein as ps
from polystein.errors import DependenceWarning

DRAWS = np.random.default_rng(0).standard_normal((200, 2))


def test_a_block_split_with_the_variance_of_independent_rows_is_warned_about() -> None:
    with pytest.warns(DependenceWarning, match="`draws` are a time-ordered chain, but BlockSplit"):
        ps.lambda_psd_test(DRAWS, -DRAWS, order=1, split=ps.BlockSplit(0.5), rng=0)
