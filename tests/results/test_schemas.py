"""The JSON schema: results of every kind fit it, and what does not is refused."""

import copy
import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource

import polystein as ps
from polystein.results.coded import ACTIONS, REASONS
from polystein.results.many import MANY_SCHEMA_VERSION
from polystein.results.refinement import SCHEMA_VERSION as REFINEMENT_VERSION
from polystein.results.result import SCHEMA_VERSION
from polystein.results.same_target import SCHEMA_VERSION as COMPARISON_VERSION
from polystein.results.same_target import Pattern
from polystein.results.sampler_comparison import SCHEMA_VERSION as SAMPLERS_VERSION
from tests.results.real import TESTS, chains, normal_score, real, rows, slow_chains

pytestmark = pytest.mark.filterwarnings("ignore::polystein.PolysteinWarning")

SOURCE = Path(ps.__file__).parent
KINDS = (
    *(ps.GofResult, ps.CheckTable, ps.Refinement, ps.TargetComparison),
    ps.SamplerComparison,
)


def require(kind: Any, values: Any) -> None:
    """Validate what JSON makes of the values."""
    Draft202012Validator(kind.schema()).validate(json.loads(json.dumps(values, allow_nan=False)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_one(kind: Any) -> None:
    Draft202012Validator.check_schema(kind.schema())


@pytest.mark.parametrize("name", TESTS)
def test_every_test_fits(name: str) -> None:
    require(ps.GofResult, real(name).to_dict())


def checked(what: str) -> ps.GofResult:
    """Results that have all that a result can have."""
    if what == "effects":
        result = ps.check(rows(1.5), normal_score, iid=True, rng=0)
        assert result.effects.found
        return result
    if what == "tolerance":
        return ps.check(chains(), normal_score, tolerance=0.1)
    draws = chains()
    facts = {
        "sampler_statistics": {
            "diverging": np.ones(draws.shape[:2], dtype=bool),
            "energy": np.random.default_rng(0).standard_normal(draws.shape[:2]),
        }
    }
    return ps.check(ps.Sample(draws, -draws, facts=facts))


@pytest.mark.parametrize("what", ["effects", "tolerance", "sampler"])
def test_results_with_all_their_parts_fit(what: str) -> None:
    result = checked(what)
    require(ps.GofResult, result.to_dict())
    again = ps.GofResult.from_dict(json.loads(json.dumps(result.to_dict())))
    require(ps.GofResult, again.to_dict())
    assert again.to_dict() == result.to_dict()


def test_infinity_is_inf_in_diagnostics_and_null_elsewhere() -> None:
    draws = np.random.default_rng(0).standard_normal((4, 60, 2))
    draws[..., 1] = np.arange(4.0)[:, None]  # constant chains that differ
    result = ps.check(draws, np.random.default_rng(1).standard_normal(draws.shape))
    values = result.to_dict()
    assert values["diagnostics"]["draws"]["rhat_of_means"][1] == "inf"
    require(ps.GofResult, values)
    words = (ps.GofResult.schema()["description"], ps.GofResult.schema()["$defs"]["number"])
    assert all('"inf"' in str(one) for one in words)
    assert replace(result, ess=np.inf, statistic=np.nan).to_dict()["ess"] is None
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    assert '`diagnostics`, which have both, infinity is `"inf"`' in page


def refined(**options: Any) -> ps.Refinement:
    def log_density(x: Any) -> Any:
        return -0.5 * (x**2).sum(axis=1)

    draws = np.random.default_rng(0).standard_normal((300, 2)) * [1.0, 0.6]
    return ps.refine(draws, log_density=log_density, starts=240, transitions=6, **options)


def test_refinements_fit() -> None:
    for one in (refined(scores=normal_score, tolerance=0.1), refined()):
        require(ps.Refinement, one.to_dict())


def compared(scale: float) -> ps.TargetComparison:
    return ps.same_target(normal_score, lambda x: -x / scale, draws=rows(1.0))


def test_comparisons_fit() -> None:
    for one in (compared(1.0), compared(2.0)):
        require(ps.TargetComparison, one.to_dict())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema_version", COMPARISON_VERSION + 1),
        ("same", True),
        ("differences", []),
        ("precision", "triple"),
        ("a key that nobody knows", 1),
    ],
)
def test_what_is_no_comparison_is_refused(key: str, value: Any) -> None:
    values = compared(2.0).to_dict()
    require(ps.TargetComparison, values)
    with pytest.raises(ValidationError):
        require(ps.TargetComparison, {**values, key: value})


def test_comparisons_of_samplers_fit() -> None:
    right, other = (ps.Sample(chains(), normal_score), ps.Sample(1.5 * chains(), normal_score))
    values = ps.compare({"right": right, "other": other}, cost={"right": 2.0}).to_dict()
    require(ps.SamplerComparison, values)
    for key, value in (("schema_version", 2), ("sets", []), ("structure", "round"), ("more", 1)):
        with pytest.raises(ValidationError):
            require(ps.SamplerComparison, {**values, key: value})


def test_patterns_are_those_of_the_code() -> None:
    row = ps.TargetComparison.schema()["$defs"]["comparison"]["properties"]["differences"]
    assert row["items"]["properties"]["pattern"]["enum"] == list(get_args(Pattern))


def test_many_checks_fit() -> None:
    def fails() -> ps.Sample:
        raise OSError("gone")

    fits = {
        "right": ps.Sample(chains(), normal_score),
        "short": ps.Sample(slow_chains(), normal_score),
        "wrong": ps.Sample(1.5 * chains(), normal_score),
        "lost": fails,
    }
    table = ps.check_many(fits)
    assert {row.verdict for row in table} > {"rejected", "error"}
    require(ps.CheckTable, table.to_dict())


def broken(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    values = copy.deepcopy(real("check flips alone").to_dict())
    place = values
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return values


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), SCHEMA_VERSION + 1),
        (("pvalue",), 1.5),
        (("pvalue",), None),
        (("verdict",), "passed"),
        (("tolerance",), "maybe"),
        (("reasons",), ["a sentence without a code"]),
        (("reasons",), [{"code": "new-code", "parameter": "", "text": ""}]),
        (("evidence", "arms", 0, "parts"), []),
        (("evidence", "arms", 0, "parts", 0, "level_share"), 0.0),
        (("diagnostics", "draws", "rhat_of_means"), ["many"]),
        (("method",), "potato"),
        (("alpha",), 0),
        (("alpha",), 1),
        (("settings",), {"x": [[{}]]}),
        (("settings",), {"x": {}}),
        (("evidence", "estimates"), {"q": {"z": "?"}}),
        (("statistic_name",), ""),
        (("rejected",), True),
        (("a key that nobody knows",), 1),
    ],
)
def test_what_is_no_result_is_refused(path: tuple[Any, ...], value: Any) -> None:
    require(ps.GofResult, real("check flips alone").to_dict())
    with pytest.raises(ValidationError):
        require(ps.GofResult, broken(path, value))


def test_versions_are_those_of_the_code() -> None:
    parts = ps.GofResult.schema()["$defs"]
    versions = {
        kind: parts[kind]["properties"]["schema_version"]["const"]
        for kind in ("result", "checks", "refinement", "comparison")
    }
    assert versions == {
        "result": SCHEMA_VERSION,
        "checks": MANY_SCHEMA_VERSION,
        "refinement": REFINEMENT_VERSION,
        "comparison": COMPARISON_VERSION,
    }


def test_each_schema_has_a_name_of_its_own() -> None:
    schemas = [kind.schema() for kind in KINDS]
    assert [one["$id"] for one in schemas] == [
        f"urn:polystein:schema:result:{SCHEMA_VERSION}",
        f"urn:polystein:schema:checks:{MANY_SCHEMA_VERSION}",
        f"urn:polystein:schema:refinement:{REFINEMENT_VERSION}",
        f"urn:polystein:schema:comparison:{COMPARISON_VERSION}",
        f"urn:polystein:schema:samplers:{SAMPLERS_VERSION}",
    ]
    known = Registry().with_resources(
        [(one["$id"], Resource.from_contents(one)) for one in schemas]
    )
    one = Draft202012Validator({"$ref": schemas[0]["$id"]}, registry=known)
    one.validate(json.loads(json.dumps(real("check").to_dict())))


def test_methods_are_those_of_the_tests() -> None:
    known = ps.GofResult.schema()["$defs"]["result"]["properties"]["method"]["enum"]
    assert set(known) == {real(name).method for name in TESTS}


def test_codes_are_those_of_the_code() -> None:
    """Every code that the package uses is in the schema, and none that it does not use."""
    parts = ps.GofResult.schema()["$defs"]
    assert parts["reason"]["properties"]["code"]["enum"] == list(REASONS)
    assert parts["action"]["enum"] == ["", *ACTIONS]
    known = {*REASONS, *ACTIONS}
    texts = [path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "coded.py"]
    # A code follows the sentence, on its line or on one of its own.
    code = re.compile(r'(?:^ +|, )"([a-z-]+)"(?=[,)\n])', re.MULTILINE)
    used = code.findall("".join(text for text in texts if "CodedText(" in text))
    assert known - {"other"} <= set(used)
    assert {one for one in used if "-" in one} <= {*known, "two-sided", "benjamini-hochberg"}


def test_reasons_are_sentences_with_codes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ps.check(slow_chains(), normal_score)
    first = result.reasons[0]
    assert first.code in REASONS  # type: ignore[attr-defined]
    assert first.parameter in ("x[0]", "x[1]", "x[2]")  # type: ignore[attr-defined]
    assert str(first) == first == first.text  # type: ignore[attr-defined]
    assert " ".join(result.reasons).startswith(first)
