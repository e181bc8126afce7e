"""The level of `refine` on right draws, and what its page and tables say."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import binomtest

from polystein.data.target import Target
from polystein.refinement.differences import functions_by, judged_by_flips
from polystein.refinement.kernels import Evaluations
from polystein.refinement.pilots import piloted, run
from tests.statistical.samplers_laws import LAWS

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "refine.md"
REPLICATES, STARTS = 400, 150


def study(part: str) -> ModuleType:
    """A study, which is in the repository but not beside the tests of an installed package."""
    return importlib.import_module(f"studies.refine.{part}")


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("name", ["mild funnel", "t3", "log-gamma", "mixture"])
def test_the_level_is_exact_whatever_the_pilots_chose(name: str, gradient: bool) -> None:
    law, rng = LAWS[name](3), np.random.default_rng(11)
    target = Target.of_functions(3, law.log_density, law.score if gradient else None)
    evaluate, rows = Evaluations(target), law.draw(rng, 200)
    found = piloted(evaluate, evaluate(rows, rows), 6 if gradient else 48, rng)
    compared = functions_by(target, ("a", "b", "c"), rows, found.pilots.position, {})
    rejected = 0
    for _ in range(REPLICATES):
        starts = law.draw(rng, STARTS)
        start = evaluate(starts, starts)
        end, _ = run(found.kernel, start, 4 if gradient else 16, rng)
        values = compared.values(start), compared.values(end)
        rejected += judged_by_flips(*values, np.arange(STARTS), rng).pvalue <= 0.05
    assert binomtest(rejected, REPLICATES, 0.05).pvalue > 0.001


@pytest.mark.parametrize("part", ["level", "faults"])
def test_the_cells_begin_as_published(part: str) -> None:
    one = study(part).STUDY
    for name, line in list(one.stored().items())[:2]:
        assert one.marks_of(one.cell(name), range(3)) == line["decisions"][:3]


@pytest.mark.parametrize("part", ["level", "faults", "fits"])
def test_the_page_shows_the_tables(part: str) -> None:
    shown = re.search(
        rf"<!-- table: {part} -->\n(.*?)<!-- end of table: {part} -->\n",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert shown is not None
    assert shown[1].strip() == "\n".join(study(part).markdown())


def test_the_published_level_holds() -> None:
    for name, line in study("level").STUDY.stored().items():
        marks = line["decisions"]
        rejected = len(marks) - marks.count(".")
        assert binomtest(rejected, len(marks), 0.05, alternative="greater").pvalue > 0.001, name
