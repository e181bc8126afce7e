"""What is asked of each line, and whether its counts keep it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scipy.stats import binomtest

from studies.chains_beyond.lines import Line

#: A rate is above a bound if a one-sided binomial test says so at this level.
SIGNIFICANT = 0.01
#: Where every feature has more true effective draws than this, the verdict must be a verdict.
ENOUGH_DRAWS = 400.0
LARGEST_SIZE, SMALLER_SIZE = 0.07, 0.06
#: P(p <= 0.001) of correct draws is at most this.
LARGEST_TAIL = 0.003
#: A run is healthy if every R-hat is at most the one, and every ESS at least the other.
HEALTHY_RHAT, HEALTHY_ESS = 1.01, 400.0

Counts = Mapping[str, str]


class Judgement(NamedTuple):
    """One claim about one line: what was asked, and whether it holds."""

    line: str
    claim: str
    holds: bool


def above(count: int, replicates: int, rate: float) -> bool:
    """Whether the rate of the counts is significantly above a bound."""
    return bool(binomtest(count, replicates, rate, alternative="greater").pvalue < SIGNIFICANT)


def size(row: Counts) -> bool:
    """Rejected not significantly more often than 0.07."""
    return not above(int(row["rejected"]), int(row["replicates"]), LARGEST_SIZE)


def smaller_size(row: Counts) -> bool:
    """Rejected not significantly more often than 0.06."""
    return not above(int(row["rejected"]), int(row["replicates"]), SMALLER_SIZE)


def rare(row: Counts) -> bool:
    """P(p <= 0.001) not significantly above 0.003."""
    return not above(int(row["p_0.001"]), int(row["replicates"]), LARGEST_TAIL)


def flips_judge(row: Counts) -> bool:
    """The sign flips abstain from at most a tenth."""
    return 10 * int(row["flips_abstained"]) <= int(row["replicates"])


def rejected(row: Counts) -> bool:
    """Rejected at least nine times in ten."""
    return 10 * int(row["rejected"]) >= 9 * int(row["replicates"])


def doubted(row: Counts) -> bool:
    """Rejected or inconclusive at least 19 times in 20."""
    either = int(row["rejected"]) + int(row["inconclusive"])
    return 20 * either >= 19 * int(row["replicates"])


def committed_size(row: Counts) -> bool:
    """Rejected at a rate between 0.035 and 0.06."""
    return 0.035 <= int(row["rejected"]) / int(row["replicates"]) <= 0.06


def tails(row: Counts) -> bool:
    """P(p <= 0.01) and P(p <= 0.001) not significantly above 0.01 and 0.001."""
    replicates = int(row["replicates"])
    return not any(above(int(row[f"p_{level:g}"]), replicates, level) for level in (0.01, 0.001))


def few_rows(row: Counts) -> bool:
    """P(p <= 0.001) at most 0.002."""
    return 500 * int(row["p_0.001"]) <= int(row["replicates"])


def error(row: Counts) -> bool:
    """An error at least 19 times in 20."""
    return 20 * int(row["error"]) >= 19 * int(row["replicates"])


CLAIMS: dict[str, Callable[[Counts], bool]] = {
    "size": size,
    "smaller size": smaller_size,
    "rare": rare,
    "flips judge": flips_judge,
    "rejected": rejected,
    "doubted": doubted,
    "committed size": committed_size,
    "tails": tails,
    "few rows": few_rows,
    "error": error,
}


def decides(row: Counts, least_ess: float) -> bool:
    """Inconclusive, or refused, at most 0.05 of the time, where there are draws enough."""
    undecided = int(row["inconclusive"]) + int(row["error"])
    few = 20 * undecided <= int(row["replicates"])
    return few or least_ess <= ENOUGH_DRAWS


def power_kept(row: Counts, earlier: Counts) -> bool:
    """Rejected at most 0.05 less often than by the earlier commit, on the same draws."""
    assert row["replicates"] == earlier["replicates"]
    difference = int(earlier["rejected"]) - int(row["rejected"])
    return 20 * difference <= int(row["replicates"])


def never_bare(facts: Mapping[str, str]) -> bool:
    """R-hat above 1.05, or an ESS below 100, is never a bare "not rejected"."""
    high = max(float(facts["rhat_draws"]), float(facts["rhat_scores"])) > 1.05
    few = min(float(facts["ess_draws"]), float(facts["ess_scores"])) < 100.0
    return not ((high or few) and facts["verdict"] == "not rejected")


def healthy(facts: Mapping[str, str]) -> bool:
    """Whether ArviZ finds nothing to complain of, in draws or in scores."""
    low = max(float(facts["rhat_draws"]), float(facts["rhat_scores"])) <= HEALTHY_RHAT
    return low and min(float(facts["ess_draws"]), float(facts["ess_scores"])) >= HEALTHY_ESS


def healthy_runs_decide(runs: Sequence[Mapping[str, str]]) -> bool:
    """Inconclusive, or refused, in at most 0.05 of the healthy runs."""
    verdicts = [one["verdict"] for one in runs if healthy(one)]
    undecided = verdicts.count("inconclusive") + verdicts.count("error")
    return 20 * undecided <= len(verdicts)


def judgements(line: Line, row: Counts, least_ess: float | None) -> list[Judgement]:
    """Every claim about a line that its own counts can decide."""
    found = [
        Judgement(line.name, claim, CLAIMS[claim](row))
        for claim in sorted(line.claims & set(CLAIMS))
    ]
    if least_ess is not None:
        found.append(Judgement(line.name, "decides", decides(row, least_ess)))
    return found
