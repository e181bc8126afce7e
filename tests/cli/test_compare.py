"""`polystein compare`: files side by side, as JSON and as a page."""

import json
from pathlib import Path

import pytest

import polystein as ps
from tests.cli.files import Run
from tests.cli.test_many import save


def test_files_are_compared(run: Run) -> None:
    files = save("right.npz"), save("wide.npz", 1.5, seed=1)
    done = run("compare", *files, "--cost", "right.npz=2.5", "--html", "page.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("`right.npz` is clearly nearest to the target")
    assert "ess/cost" in done.out
    assert done.out.endswith("\nPage: page.html\n")
    page = Path("page.html").read_text("utf-8")
    assert "wide.npz" in page
    assert "polystein compare" in page


def test_json_is_the_comparison_and_makes_a_page_later(run: Run) -> None:
    files = save("right.npz"), save("wide.npz", 1.5, seed=1)
    done = run("compare", *files, "--json", "--order", "3", "--thin", "2")
    values = json.loads(done.out)
    assert ps.SamplerComparison.from_dict(values).order == 3
    assert [one["name"] for one in values["files"]] == [*files]
    assert values["sets"][0]["draws"] == 75
    Path("stored.json").write_text(done.out)
    told = run("report", "stored.json")
    assert told.code == 0
    assert told.out.startswith("`right.npz` is")
    assert "wide.npz" in Path("stored.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.npz"], "FILES must be at least two, each given once; got a.npz"),
        (["a.npz", "b.npz", "a.npz"], "each given once"),
        (["a.npz", "b.npz", "--cost", "a.npz"], "`--cost` must be FILE=NUMBER"),
        (["a.npz", "b.npz", "--cost", "c.npz=1"], "`cost` must have the names of sets"),
        (["a.npz", "b.npz", "--alpha", "2"], "`--alpha` must be a level"),
        (["a.npz", "gone.npz"], "the set 'gone.npz'"),
        (["a.npz", "b.npz", "--html", "a.npz"], "`--html` must not be an input"),
        (["a.npz", "b.npz", "--order", "0"], "`order` must be"),
    ],
)
def test_2_for_what_makes_no_sense(run: Run, arguments: list[str], said: str) -> None:
    for seed, name in enumerate(("a.npz", "b.npz")):
        save(name, seed=seed, draws=40)
    done = run("compare", *arguments)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""
