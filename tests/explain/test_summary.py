"""The summary by parameter: numbers of the draws, and what is off."""

import math
import pickle
import re
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.inference.convergence import ranked_convergence
from polystein.report.summary import NOT_OF_CHAINS
from polystein.results.summary import SummaryRow, SummaryTable

RNG = np.random.default_rng(0)
CHAINS = RNG.standard_normal((4, 400, 3)) * [1.0, 1.4, 1.0]


@pytest.fixture(scope="module")
def result() -> ps.GofResult:
    return ps.check(ps.Sample(CHAINS, -CHAINS, names=["mu", "tau", "w"]))


def test_numbers_are_those_of_the_draws(result: ps.GofResult) -> None:
    table = result.summary()
    assert [row.name for row in table] == ["mu", "tau", "w"]
    flat = CHAINS.reshape(-1, 3)
    for place, row in enumerate(table):
        assert row.mean == pytest.approx(flat[:, place].mean())
        assert row.sd == pytest.approx(flat[:, place].std(), rel=1e-3)
        assert row.mcse_mean == pytest.approx(row.sd / 40.0, rel=0.25)
        assert row.mcse_sd == pytest.approx(row.sd / math.sqrt(3200.0), rel=0.25)
        assert row.r_hat == pytest.approx(1.0, abs=0.02)
        assert row.ess_bulk > 1000
        assert row.ess_tail > 1000
    assert table["tau"].off[0] == "sd"
    assert table["mu"].off == ()


def test_it_is_printed_and_has_a_short_repr(result: ps.GofResult) -> None:
    table = result.summary()
    lines = str(table).splitlines()
    assert lines[0].split() == (
        ["parameter", "mean", "mcse", "sd", "mcse", "ess_bulk", "ess_tail", "r_hat", "off"]
    )
    assert re.fullmatch(r"tau .* 1\.\d\d  sd.*", lines[2])
    assert lines[1].endswith("  no")
    assert max(map(len, lines)) <= 90
    assert repr(table) == "SummaryTable(3 parameters, 1 off)"
    assert "<td" in table._repr_html_()
    assert len(table) == 3
    with pytest.raises(ps.InputError, match=r"must be the name of a parameter, 'mu', 'tau'"):
        table["nu"]


def test_independent_rows_have_no_rhat() -> None:
    draws = CHAINS.reshape(-1, 3)
    table = ps.check(draws, -draws, iid=True).summary()
    assert math.isnan(table["x[1]"].r_hat)
    assert "nan" not in str(table)
    lines = str(table).splitlines()
    assert lines[0].split() == ["parameter", "mean", "mcse", "sd", "mcse", "off"]
    assert lines[-1] == NOT_OF_CHAINS
    assert NOT_OF_CHAINS in table._repr_html_()
    assert "r_hat" not in table._repr_html_()


def with_transform(transform: Any, names: list[str]) -> SummaryTable:
    facts = {"transform": transform}
    return ps.check(ps.Sample(CHAINS, -CHAINS, names=names, facts=facts)).summary()


def test_parameters_on_their_own_scale_stand_where_their_coordinates_would() -> None:
    table = with_transform(lambda rows: {"tau": np.exp(rows[:, 1])}, ["mu", "tau_log__", "w"])
    assert [row.name for row in table] == ["mu", "tau", "w", "tau_log__"]
    assert table["tau"].off == (f"{', '.join(table['tau_log__'].off)} of tau_log__",)
    assert table["tau_log__"].off[0] == "sd"
    assert table["tau"].mean == pytest.approx(np.exp(CHAINS[..., 1]).mean())
    expected = ranked_convergence(np.exp(CHAINS[..., 1:2]))
    found = (table["tau"].r_hat, table["tau"].ess_bulk, table["tau"].ess_tail)
    assert found == pytest.approx([float(part[0]) for part in expected[:3]])
    # Ranks do not change under a monotone map.
    assert table["tau"].ess_bulk == pytest.approx(table["tau_log__"].ess_bulk)


def test_a_coordinate_with_the_name_of_its_parameter_is_called_unconstrained() -> None:
    """As NumPyro's are. The rows are those of coordinates with other names."""
    names = ["mu", "tau", "w"]
    table = with_transform(lambda rows: {"tau": np.exp(rows[:, 1]), "w": rows[:, 2]}, names)
    other = with_transform(lambda rows: {"tau": np.exp(rows[:, 1])}, ["mu", "tau_log__", "w"])
    assert [row.name for row in table] == ["mu", "tau", "w", "tau (unconstrained)"]
    for mine, theirs in (("tau", "tau"), ("tau (unconstrained)", "tau_log__"), ("w", "w")):
        # Batches are chosen for all that is estimated together: errors differ by little.
        assert table[mine][1:8] == pytest.approx(other[theirs][1:8], rel=0.01)
    assert table["tau (unconstrained)"].off == other["tau_log__"].off
    assert table["tau"].off == (f"{', '.join(other['tau_log__'].off)} (unconstrained)",)


def test_without_draws_there_is_no_summary(result: ps.GofResult) -> None:
    for lost in (
        ps.GofResult.from_dict(result.to_dict()),
        pickle.loads(pickle.dumps(result)),
        ps.psd_test(CHAINS.reshape(-1, 3), lambda x: -x, order=1, rng=0),
    ):
        with pytest.raises(ps.InputError, match="`summary` needs the draws"):
            lost.summary()


def test_lines_fit_whatever_is_off() -> None:
    row = SummaryRow("a" * 40, *[-1.234567e-10] * 7, ("correlation",) * 9)
    text = str(SummaryTable((row, row._replace(mean=1.0))))
    assert max(map(len, text.splitlines())) <= 90
    assert text.splitlines()[2].startswith("..")
    assert text.count("correlation") == 18
    off = ("mean", "sd", "correlation", "skew", "tail", "mean of sigma_log__")
    head, *lines = str(SummaryTable((SummaryRow("sigma", *[1.0] * 7, off),))).splitlines()
    assert len(lines) > 1
    assert " ".join(line[head.index("off") :] for line in lines) == ", ".join(off)


def test_many_parameters_are_cut_to_those_that_need_a_look() -> None:
    draws = np.random.default_rng(1).standard_normal((600, 60))
    draws[:, 57] *= 2.0
    table = ps.check(draws, -draws, iid=True).summary()
    text = str(table)
    assert text.splitlines()[1].startswith("x[57]")
    assert "... and 20 more, in `rows`" in text
    assert "... and 20 more" in table._repr_html_()


def test_parameters_of_several_axes_have_one_name_everywhere() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 300, 3)) * [1.4, 1.0, 0.6]
    draws[..., 2] += 0.8 * draws[..., 1]
    names = ["s_log__[0, 0]", "s_log__[0, 1]", "mu"]
    facts = {"transform": lambda rows: {"s": np.exp(rows[:, :2]).reshape(-1, 1, 2)}}
    result = ps.check(ps.Sample(draws, -draws, names=names, facts=facts))
    table = result.summary()
    assert [row.name for row in table] == ["s[0, 0]", "s[0, 1]", "mu", *names[:2]]
    assert all(math.isfinite(row.r_hat) for row in table)
    assert result.effects["s_log__[0, 1], mu", "correlation"].found
    assert "correlation" in table["s_log__[0, 1]"].off
    assert "correlation" in table["mu"].off
    assert table["s[0, 0]"].off == ("sd of s_log__[0, 0]",)


def test_a_transform_that_raises_is_named() -> None:
    def fails(rows: Any) -> dict[str, Any]:
        if len(rows) > 10:
            raise ValueError("on purpose")
        return {"tau": np.exp(rows[:, 1])}

    with pytest.raises(ps.InputError, match=r"transform.*raised ValueError: on purpose"):
        with_transform(fails, ["mu", "tau_log__", "w"])
