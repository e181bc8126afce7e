"""`check_many`: every row is that of `check`, whatever becomes of the others."""

import json
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polystein as ps
from polystein.workflows import many as workflow
from tests.pages import run

PAGE = Path(__file__).parents[2] / "docs" / "many.md"


def chains(seed: int, scale: float = 1.0, draws: int = 150) -> np.ndarray:
    return scale * np.random.default_rng(seed).standard_normal((4, draws, 2))


RIGHT, WIDE = chains(0), chains(1, 1.4)


def sample(draws: np.ndarray) -> ps.Sample:
    return ps.Sample(draws, -draws, names=["mu", "tau"])


def raises(_: Any) -> Any:
    raise ZeroDivisionError("no score here")


def leaves() -> Any:
    raise SystemExit(3)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The fits that are checked, as they are."""
    seen: list[Any] = []
    honest = workflow.check

    def counted(source: Any, **options: Any) -> Any:
        seen.append(source)
        return honest(source, **options)

    monkeypatch.setattr(workflow, "check", counted)
    return seen


@pytest.mark.parametrize("rng", [0, 5, np.random.SeedSequence(3)])
def test_a_single_check_reproduces_its_row(rng: Any) -> None:
    table = ps.check_many({"right": sample(RIGHT), "wide": sample(WIDE)}, rng=rng)
    for name, draws in (("right", RIGHT), ("wide", WIDE)):
        alone = ps.check(sample(draws), rng=rng)
        if name == "wide":
            _ = alone.effects
        row = table[name]
        assert row.result is not None
        assert row.result.to_dict() == alone.to_dict()
        assert (row.pvalue, row.chains, row.draws, row.dimension) == (alone.pvalue, 4, 150, 2)
    assert [row.verdict for row in table] == ["not rejected", "rejected"]


def test_a_generator_is_advanced_from_fit_to_fit() -> None:
    fits = {"one": sample(RIGHT), "two": sample(RIGHT)}
    table = ps.check_many(fits, rng=np.random.default_rng(8))
    rng = np.random.default_rng(8)
    expected = [ps.check(one, rng=rng).pvalue for one in fits.values()]
    assert [row.pvalue for row in table] == expected


def test_every_form_of_a_fit(tmp_path: Path) -> None:
    file = tmp_path / "wide.npz"
    np.savez(file, draws=WIDE, scores=-WIDE, names=["mu", "tau"])
    forms = {
        "sample": sample(WIDE),
        "pair": (WIDE, lambda x: -x),
        "file": str(file),
        "path": file,
        "function": lambda: sample(WIDE),
        "function of a path": lambda: file,
    }
    table = ps.check_many(forms)
    assert {row.pvalue for row in table} == {ps.check(WIDE, -WIDE).pvalue}
    assert [row.verdict for row in table] == ["rejected"] * 6


def test_a_fault_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    spoilt = RIGHT.copy()
    spoilt[0, 0, 0] = np.nan
    fits = {
        "missing": tmp_path / "missing.npz",
        "spoilt": (spoilt, -RIGHT),
        "score": (RIGHT, raises),
        "number": 3,
        "function": lambda: raises(0),
        "wide": sample(WIDE),
    }
    table = ps.check_many(fits)
    assert [row.verdict for row in table] == [*["error"] * 5, "rejected"]
    assert "missing.npz" in table["missing"].error
    assert "`draws`" in table["spoilt"].error
    assert table["score"].error == "ZeroDivisionError: no score here"
    assert "`scores`" in table["number"].error
    assert table["wide"].adjusted == table["wide"].pvalue


ENDED = "the function of a fit must return it; it ended with SystemExit: 3"


def test_a_function_that_exits_is_a_row_with_its_error() -> None:
    table = ps.check_many({"exit": leaves, "wide": sample(WIDE)})
    assert (table["exit"].verdict, table["exit"].error) == ("error", ENDED)
    assert table["wide"].verdict == "rejected"


def test_an_exit_elsewhere_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler of SIGTERM may raise it: the program is to end then."""
    monkeypatch.setattr(workflow, "check", lambda *_, **__: leaves())
    with pytest.raises(SystemExit):
        ps.check_many({"a": sample(RIGHT)})


def test_an_error_without_a_message_is_named() -> None:
    def silent() -> Any:
        raise ps.PolysteinError

    table = ps.check_many({"a": silent})
    assert table["a"].error == "PolysteinError"
    assert ps.CheckTable.from_dict(table.to_dict())["a"] == table["a"]


def test_warnings_are_kept_and_not_emitted() -> None:
    slow = np.cumsum(chains(2), axis=1)  # warnings are errors in tests
    result = ps.check_many({"slow": (slow, -slow)})["slow"].result
    assert result is not None
    assert result.warnings


def test_options_reach_every_check() -> None:
    rows = RIGHT[0]
    table = ps.check_many({"a": (rows, -rows)}, iid=True, tolerance=0.5, alpha=0.2)
    row = table["a"]
    assert row.result is not None
    assert row.result.settings["iid"] is True
    assert row.result.tolerance == ps.check(rows, -rows, iid=True, tolerance=0.5).tolerance
    assert table.alpha == 0.2


def test_flips_at_their_limit_are_known() -> None:
    """The least p-value of 2,000 flips is 1/2000, over the share 0.765 of the level."""
    wrong = chains(3, 1.12)
    arms = ps.check(wrong, -wrong).evidence.arms
    flips = next(arm for arm in arms if arm.name == "sign flips")
    assert flips.pvalue == pytest.approx(1.0 / 2000 / 0.765)
    assert ps.check_many({"wrong": (wrong, -wrong)}).fits[0].coarse
    assert not ps.check_many({"right": sample(RIGHT)}).fits[0].coarse


def test_flips_of_the_kernel_net_at_their_limit_are_known() -> None:
    """The sign of one coordinate is that of two others; 5,000 flips and the share 0.18."""
    draws = np.random.default_rng(0).standard_normal((4, 1000, 3))
    draws[..., 2] = np.abs(draws[..., 2]) * np.sign(draws[..., :2].prod(axis=-1))
    leading = ps.check(draws, -draws).evidence.arms[0]
    assert leading.name == "kernel net"
    assert leading.pvalue == pytest.approx(1.0 / 5_000 / 0.18)
    assert ps.check_many({"tied": (draws, -draws)}).fits[0].coarse


def test_progress_counts_the_fits() -> None:
    told: list[tuple[int, int]] = []
    fits = {"a": sample(RIGHT), "b": 3, "c": sample(RIGHT)}
    ps.check_many(fits, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_kept_results_are_not_computed_again(tmp_path: Path, checks: list[Any]) -> None:
    fits = {"right": sample(RIGHT), "wide": sample(WIDE), "bad": 3}
    store = tmp_path / "made" / "store"
    first = ps.check_many(fits, store=store)
    files = sorted(store.iterdir())
    assert [file.suffix for file in files] == [".json", ".json"]
    assert len(checks) == 2
    again = ps.check_many({**fits, "new": sample(chains(9))}, store=store)
    assert len(checks) == 3
    assert [again[name].result for name in fits] == [first[name].result for name in fits]
    assert again["bad"].error == first["bad"].error


@pytest.mark.parametrize(
    "change",
    [
        {"rng": 1},
        {"iid": True},
        {"tolerance": 0.2},
        {"alpha": 0.01},
        {"draws": RIGHT[0] + 1e-12},
        {"scores": -RIGHT[0] * (1 + 1e-12)},
        {"names": ["mu", "sigma"]},
        {"log_weights": np.zeros(150)},
        {"facts": {"sampler_statistics": {"diverging": np.arange(150) == 3}}},
    ],
)
def test_what_has_changed_is_checked_again(
    tmp_path: Path, checks: list[Any], change: dict[str, Any]
) -> None:
    options = {key: change[key] for key in ("rng", "iid", "tolerance", "alpha") if key in change}
    parts: dict[str, Any] = {"draws": RIGHT[0], "scores": -RIGHT[0], "names": ["mu", "tau"]}
    before = ps.Sample(**parts)
    after = ps.Sample(**parts | {key: one for key, one in change.items() if key not in options})
    ps.check_many({"a": before}, store=tmp_path)
    ps.check_many({"a": before}, store=tmp_path)
    assert len(checks) == 1
    ps.check_many({"a": after}, store=tmp_path, **options)
    assert len(checks) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"result": {}}', b"\xff"])
def test_a_damaged_file_in_the_store_is_replaced(
    tmp_path: Path, checks: list[Any], content: bytes
) -> None:
    fits = {"wide": sample(WIDE)}
    first = ps.check_many(fits, store=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    again = ps.check_many(fits, store=tmp_path)
    assert len(checks) == 2
    assert again["wide"].result == first["wide"].result
    assert json.loads(file.read_bytes())["chains"] == 4


@pytest.mark.parametrize(
    ("key", "value"), [("chains", -4), ("chains", "4"), ("draws", 0), ("draws", 1.5)]
)
def test_sizes_that_no_fit_has_are_not_taken_from_the_store(
    tmp_path: Path, checks: list[Any], key: str, value: Any
) -> None:
    fits = {"wide": sample(WIDE)}
    ps.check_many(fits, store=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(json.dumps({**json.loads(file.read_bytes()), key: value}))
    row = ps.check_many(fits, store=tmp_path)["wide"]
    assert len(checks) == 2
    assert (row.chains, row.draws) == (4, 150)


def test_a_store_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ps.InputError, match="`store` must be where files can be written"):
        ps.check_many({"a": sample(RIGHT)}, store=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("fits", "options", "named"),
    [
        ({}, {}, "`fits`"),
        ([1], {}, "`fits`"),
        ({1: 2}, {}, "`fits` must have strings as names, none of them empty; got 1"),
        ({"": 2}, {}, "`fits`"),
        ({"a": 2}, {"adjust": "none"}, "`adjust` must be 'holm' or 'benjamini-hochberg'"),
        ({"a": 2}, {"alpha": 0.0}, "`alpha`"),
        ({"a": 2}, {"iid": 1}, "`iid`"),
        ({"a": 2}, {"tolerance": 2.0}, "`tolerance`"),
        ({"a": 2}, {"n_jobs": 0}, "`n_jobs`"),
        ({"a": 2}, {"rng": -1}, "`rng`"),
        ({"a": 2}, {"store": 3}, "`store`"),
        ({"a": 2}, {"progress": 3}, "`progress`"),
    ],
)
def test_wrong_arguments_are_named_before_any_work(
    fits: Any, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(ps.InputError, match=named):
        ps.check_many(fits, **options)


def test_names_stay_as_they_are_given() -> None:
    names = ["a\nb", "a\\nb", " ", "\x1b[31m", "\udcff"]
    table = ps.check_many(dict.fromkeys(names, 3))
    assert [row.name for row in table] == names
    assert [table[name].name for name in names] == names
    again = ps.CheckTable.from_dict(json.loads(json.dumps(table.to_dict())))
    assert [row.name for row in again] == names


class Model(str, Enum):  # noqa: UP042  (a StrEnum shows its value, which hides the difference)
    """Names as older code has them."""

    WIDE = "wide"


def test_an_enum_of_strings_is_known_by_its_value() -> None:
    table = ps.check_many({Model.WIDE: 3})
    assert table["wide"] is table[Model.WIDE]
    assert table.fits[0].name == "wide"


@pytest.mark.slow
@pytest.mark.processes
def test_a_function_that_exits_in_another_process_is_a_row_with_its_error() -> None:
    table = ps.check_many({"exit": leaves, "wide": sample(WIDE)}, n_jobs=2)
    assert (table["exit"].verdict, table["exit"].error) == ("error", ENDED)
    assert table["wide"].verdict == "rejected"


@pytest.mark.slow
@pytest.mark.processes
def test_any_number_of_processes_gives_the_same_table(tmp_path: Path) -> None:
    fits: dict[str, Any] = {str(seed): sample(chains(seed, 1 + 0.1 * seed)) for seed in range(4)}
    fits |= {"lambda": (RIGHT, lambda x: -x), "bad": tmp_path / "missing.npz"}
    alone = ps.check_many(fits)
    for jobs in (2, 3):
        assert ps.check_many(fits, n_jobs=jobs, store=tmp_path).to_dict() == alone.to_dict()
    assert len(list(tmp_path.iterdir())) == 5


def test_the_examples_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(PAGE.read_text("utf-8"))
    assert (tmp_path / "many.html").is_file()
