"""The page of a reproduction: every section is made from the tables in its directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from polystein.experiments.engine.cells import Row, Scalar, number
from polystein.experiments.engine.store import read_csv, read_json
from polystein.experiments.engine.summary import markdown_table
from polystein.experiments.paper import (
    appendix,
    experiment2,
    gap,
    msnr,
    published,
    runtime,
    sizes,
    snr,
    verdict,
)
from polystein.experiments.paper.methods import ALL_METHODS, LABELS, published_as


def page(out: Path) -> str:
    """Return the page of every study whose tables `out` holds, and what is known to differ."""
    sections = [SECTIONS[study](out) for study in SECTIONS if (out / f"{study}.json").exists()]
    heading = (
        "# The paper, reproduced\n\nWritten by `polystein reproduce` from the tables beside this "
        "page. Published and measured rejection counts are compared cell by cell with Fisher's "
        "exact test, two-sided, with Holm's correction within each method, and pooled by the "
        "Cochran–Mantel–Haenszel test. A comparison can show that two rates differ; it cannot show "
        "that they are equal. Where none is significant, the tables say which difference a single "
        "comparison, without Holm's correction, would have found. Table 1 has no counts, only "
        "rates: that they rest on "
        f"{verdict.TABLE_REPLICATES} repetitions is the paper's statement.\n"
    )
    causes = f"## Known causes of differences\n\n{verdict.known_causes()}\n"
    return "\n".join([heading, *sections, causes])


def _experiment1(out: Path) -> str:
    """Figures 1 and 2."""
    summary = read_csv(out / "experiment1.csv")
    comparisons = verdict.compare_experiment1(summary)
    return _section(
        "Experiment 1: a standard Gaussian target",
        _how(out, "experiment1"),
        _figure(
            "figure1.png",
            "Rejection rates of λ-PSD and of the kernel tests against the dimension, one panel for "
            "each sampler. On the target all are near 0.05. In high dimension the kernel tests "
            "lose their power on the perturbed Gaussian and on Laplace, and λ-PSD of orders 3 and "
            "4 keeps most of it",
            "Figure 1. Rejection rates at the level 0.05 against the dimension d, with standard "
            "errors; n = 1000, and 2000 for Student-t. λ-PSD as printed.",
        ),
        _figure(
            "figure2.png",
            "Rejection rate and two forms of MSNR of PSD and λ-PSD against the dimension, one "
            "column for each sampler: PSD of order 4 has less power than PSD of lower orders, "
            "λ-PSD of order 4 has not",
            "Figure 2. PSD and λ-PSD as printed, with standard errors; n = 1000, and 2000 for "
            "Student-t. The middle row is what the published figure shows, the lower one what the "
            "text describes; each has its line at |z| = 1.96.",
        ),
        verdict.agreement_section(comparisons),
        verdict.pooled_section(comparisons),
        msnr.msnr_section(summary),
        sizes.sizes_experiment1(summary, ALL_METHODS),
    )


def _experiment2(out: Path) -> str:
    """Table 1."""
    summary = read_csv(out / "experiment2.csv")
    comparisons = verdict.compare_experiment2(summary)
    return _section(
        "Experiment 2: a Gaussian–Bernoulli restricted Boltzmann machine",
        _how(out, "experiment2"),
        f"n = {experiment2.CHAINS}, d = {experiment2.DIMENSION}. A dash means that nothing was "
        "measured. *Replicates* counts the measured ones, and has one count for each standard "
        "deviation where they differ. The rows of a set are the last states of "
        f"{experiment2.CHAINS} parallel Gibbs chains after {experiment2.SWEEPS} sweeps. Chains do "
        "not influence each other, so the rows are independent, and tests for independent draws "
        "apply.",
        table1(summary),
        verdict.agreement_section(comparisons),
        verdict.pooled_section(comparisons),
        sizes.sizes_experiment2(summary, experiment2.METHODS),
    )


def _appendix(out: Path) -> str:
    """Orders up to 8 at d = 16."""
    summary = read_csv(out / "appendix.csv")
    return _section(
        "Appendix: orders up to 8 at d = 16",
        _how(out, "appendix"),
        _figure(
            "appendix.png",
            "Rejection rate and two forms of MSNR of PSD and λ-PSD against the order up to 8 at "
            "d = 16, one column for each sampler: PSD falls with the order, λ-PSD stays level",
            "The figure of the appendix: d = 16; n = 1000, and 2000 for Student-t; with standard "
            "errors.",
        ),
        appendix.power_table(summary),
    )


def _sizes(out: Path) -> str:
    """Size of lambda-PSD over many sets of exact draws."""
    return _section(
        "Size of λ-PSD at high orders",
        _how(out, "sizes"),
        f"How often `lambda_psd_test` with its default weights, which are Algorithm 2 as printed, "
        f"rejects exact draws from N(0, I) at the level 0.05; n = {sizes.DRAWS}, "
        f"d = {sizes.DIMENSION}:",
        sizes.sizes_lambda_psd(read_csv(out / "sizes.csv")),
    )


def _snr(out: Path) -> str:
    """Show the central claim."""
    slopes = snr.slopes()
    low, high = snr.SLOPE
    return _section(
        "Signal-to-noise ratio against the order",
        _how(out, "snr"),
        _figure(
            "snr.png",
            "SNR² against the order: that of PSD falls by powers of ten, as exact values and a "
            "simulation show; that of λ-PSD rises to its bound",
            f"p = N(0, I), q = N({snr.PAIR.delta:g}, {snr.PAIR.variance:g} I), "
            f"d = {snr.PAIR.dimension}. Left: the U-statistic of n = {snr.DRAWS} "
            "draws. Right: per draw.",
        ),
        f"Between Q = {low} and {high} log₁₀ of PSD's exact SNR² per draw falls by "
        f"{-slopes.exact:.3f} per order, the corrected law by {-slopes.corrected:.3f}, the "
        f"printed one by {-slopes.printed:.3f}. λ-PSD's does not fall and stays below its bound.",
    )


def _gap(out: Path) -> str:
    """Show how much of the best SNR^2 is reached."""
    summary = read_csv(out / "gap.csv")
    return _section(
        "Optimality gap: PSD and λ-PSD beside o-PSD",
        _how(out, "gap"),
        "SNR² per draw, computed exactly for p = N(0, I) and each q; `gap.csv` has every order.",
        _figure(
            "gap.png",
            "Share of o-PSD's SNR² that PSD and λ-PSD reach against the order, for four samplers "
            "and d = 1, 2, 16 and 64: PSD falls by one to three powers of ten, λ-PSD levels off",
            "Share of o-PSD's SNR², on a logarithmic axis.",
        ),
        gap.table(summary),
        gap.sentence(summary),
    )


def _runtime(out: Path) -> str:
    """Figures 3 and 4."""
    return _section(
        "Runtime of λ-PSD",
        _how(out, "runtime"),
        "The published times are medians of 20 runs on the authors' machine. They are on other "
        "hardware, so only their growth with n, d and Q can be compared.",
        _figure(
            "figure3.png",
            "Median seconds of one λ-PSD test against the dimension up to 1024, published, with "
            "the cross-entropy search and with closed-form weights: all grow slowly",
            "Figure 3. Runtime against d; n = 1000.",
        ),
        _figure(
            "figure4.png",
            "Median seconds of one λ-PSD test against the number of draws up to 10,000, published, "
            "with the cross-entropy search and with closed-form weights: all grow slowly",
            "Figure 4. Runtime against n; d = 16.",
        ),
        _speed(read_csv(out / "runtime.csv")),
    )


#: In the order in which studies are run and shown.
SECTIONS: dict[str, Callable[[Path], str]] = {
    "experiment1": _experiment1,
    "experiment2": _experiment2,
    "appendix": _appendix,
    "sizes": _sizes,
    "snr": _snr,
    "gap": _gap,
    "runtime": _runtime,
}


def table1(summary: Sequence[Row]) -> str:
    """Table 1 in Markdown, published / measured, with a dash where nothing was measured.

    Replicates that differ between the columns are listed in the order of the columns.
    """
    known = {(one.perturbation, one.method, one.order): one for one in published.experiment2()}
    measured: dict[tuple[Scalar, ...], Row] = {
        (row["perturbation"], row["method"], row["order"]): row for row in summary
    }
    rows = []
    for method in experiment2.METHODS:
        column = published_as(method.name)
        rates, counts = [], []
        for perturbation in experiment2.PERTURBATIONS:
            row = measured.get((perturbation, method.name, method.order))
            found = "–" if row is None else f"{number(row, 'rejection_rate'):.2f}"
            rate = known[perturbation, column, method.order].rejection_rate
            rates.append(f"{rate:.2f} / {found}")
            counts.append("–" if row is None else f"{row['replicates']}")
        replicates = counts[0] if len(set(counts)) == 1 else ", ".join(counts)
        rows.append([method.label, *rates, replicates])
    heads = ["Standard deviation", *(f"{p:.2f}" for p in experiment2.PERTURBATIONS), "Replicates"]
    return "\n".join(["Rejection rates, published / measured:", "", *markdown_table(heads, rows)])


def _how(out: Path, study: str) -> str:
    """How the numbers were made: replicates, seed, commits and time."""
    saved = read_json(out / f"{study}.json")
    counts = saved["replicates"]
    many = "" if counts == [1] else "s"
    column = "" if len(counts) == 1 else f" (column `replicates` of `{study}.csv`)"
    grid = ", quick grid" if saved["quick"] else ""
    # Methods that were rerun later, by commit.
    later: dict[str, list[str]] = {}
    for method, commits in saved["methods"].items():
        later.setdefault(", ".join(commits), []).append(LABELS[method])
    others = "".join(f", and for {_listed(one)} commit {commit}" for commit, one in later.items())
    text = (
        f"{_listed(counts)} replicate{many}{column}, seed {saved['seed']}{grid}, commit "
        f"{', '.join(saved['commits'])}{others}; "
        f"{saved['processor_seconds'] / 60:.1f} minutes of processor time."
    )
    if saved["of_other_code"] is None:
        return text
    remedy = f"remove `work/{study}` beside this page to rerun"
    return f"{text}\n\n**Warning:** {saved['of_other_code']}; {remedy}."


def _listed(words: Sequence[object]) -> str:
    """Words with commas and a last "and"."""
    *first, last = (str(word) for word in words)
    return f"{', '.join(first)} and {last}" if first else last


def _figure(name: str, alt: str, caption: str) -> str:
    return f"![{alt}]({name})\n\n*{caption}*"


def _speed(summary: Sequence[Row]) -> str:
    """Slowest point of each rule, beside the slowest published one."""
    point = max(published.runtimes(), key=lambda point: point.median_seconds)
    rows = [["published", f"{point.median_seconds:.3g}", point.n, point.dimension, point.order]]
    for rule in runtime.RULES:
        row = max(
            (row for row in summary if row["weights"] == rule),
            key=lambda row: number(row, "median_seconds"),
        )
        seconds = f"{number(row, 'median_seconds'):.3g}"
        rows.append([rule, seconds, row["n"], row["d"], row["order"]])
    heads = ("Weights", "Slowest median, seconds", "n", "d", "Q")
    return "\n".join(markdown_table(heads, rows))


def _section(title: str, *paragraphs: str) -> str:
    return "\n\n".join([f"## {title}", *paragraphs]) + "\n"
