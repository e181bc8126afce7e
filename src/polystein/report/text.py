"""A result on one screen, and the words that every kind of report shares."""

from __future__ import annotations

import math
from collections.abc import Iterable

from polystein.report.effects import MOST_SENTENCES, PLACE, effect_facts, effects_to_tell
from polystein.report.features import MOST_ROWS, feature_table
from polystein.report.lines import WIDTH, shorten, wrapped
from polystein.report.noticed import power_words
from polystein.report.pvalues import is_near_one, p_words
from polystein.results.diagnostics import pareto_k_words
from polystein.results.evidence import Abstention
from polystein.results.refinement import Refinement
from polystein.results.result import DEFAULT_LEVEL, GofResult
from polystein.results.sampler import sampler_words

#: A report fits on a terminal of 24 lines.
HEIGHT = 24
# Of 24 lines: the verdict comes first, then what to do about it.
_MOST_WARNING_LINES = 4
_MOST_REASON_LINES = 8
#: Effects that are told, and lines that reasons, each fact and warnings have beyond these. Of
#: layouts the first one that fits is taken, or the last.
_LAYOUTS = ((8, 16), (6, 16), (5, 16), (4, 16), (MOST_SENTENCES, 16), (MOST_SENTENCES, 2))
_TIGHT = (MOST_SENTENCES, 0)
#: Lines of one fact.
_MOST_LINES = {"Abstained": 2, "Off": 2, "": 2, "Next": 4, "Chains": 4}
_MOST_LINES_OF_FACT = 3
#: Where the rest of a fact is that is none of the effects.
_FIELDS = {
    "Abstained": "evidence.abstained",
    "Chains": "diagnostics",
    "Tolerance": "tolerance_reason",
}
#: What is left out first where lines are scarce.
_LEAST_IMPORTANT = ("Draws", "Statistic", "Meaning", "Abstained", "Chains")
#: Columns of the longest label, "Statistic" and "Tolerance", with two spaces.
_LABEL = 11
#: From this p-value down, evidence is called strong.
_STRONG = 0.001

#: Letters of a name of a parameter: two of them fit on the lines of the chains.
MOST_LETTERS = 40

QUESTION = "Do these draws come from the target?"
_TESTS = {
    "psd": "PSD z-test",
    "lambda-psd": "lambda-PSD z-test",
    "psd-bootstrap": "PSD wild-bootstrap test",
    "check": "check",
}


def render(
    result: GofResult,
    alpha: float = DEFAULT_LEVEL,
    *,
    place: str = PLACE,
    lines_to_run: str = "",
) -> str:
    """Return at most 24 lines of at most 88 ASCII columns.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    alpha : float
        Level at which the verdict is worded.
    place : str
        Where a reader finds a field of the result in full; the field's name is filled in.
    lines_to_run : str
        What a reader can run to learn more about draws that are rejected, if not Python.
    """
    for most, further in (*_LAYOUTS, _TIGHT):
        text, whole = _laid_out(result, alpha, place, lines_to_run, most, further)
        if whole:
            break
    return text


def _laid_out(
    result: GofResult, alpha: float, place: str, lines_to_run: str, most: int, further: int
) -> tuple[str, bool]:
    """The screen with at most so many effects and ``further`` lines, and whether all of it fits."""
    verdict, rest = headline(result, alpha)
    head = [*wrapped(f"{verdict} {rest}"), shorten(asked(result), WIDTH)]
    warnings = _warning_lines(result.warnings, place, further)
    reasons = result.reasons if result.verdict_at(alpha) == "inconclusive" else ()
    why = _reason_lines(reasons, place, further)
    facts = report_facts(result, alpha, why, place=place, lines_to_run=lines_to_run, most=most)
    shown = [(label, _fact_lines(label, words, place, further)) for label, words in facts]
    room = HEIGHT - len(head) - 1 - len(why) - (len(warnings) + 1 if warnings else 0)
    rows = min(MOST_ROWS, len(result.components))
    whole = sum(len(lines) for _, lines in shown) + (rows + 4 if rows else 0) <= room
    for least in _LEAST_IMPORTANT:
        if sum(len(lines) for _, lines in shown) > room:
            shown = [(label, lines) for label, lines in shown if label != least]
    lines = [*why, *[line for _, own in shown for line in own][: max(0, room)]]
    # Whatever else there is to say, the table gets the lines that are left.
    table = list(feature_table(result, alpha, room + len(why) - len(lines) - 1))
    blocks = (head, lines, table, warnings)
    return "\n\n".join("\n".join(block) for block in blocks if block), whole


def asked(result: GofResult) -> str:
    """The question, which test answers it, and how many draws it was given.

    Where a statistic is told, so are the draws.
    """
    size = size_of_draws(result).replace("×", "x")
    return f"{QUESTION} {name_of_test(result)}" + ("" if result.has_own_statistic else f", {size}")


def report_facts(
    result: GofResult,
    alpha: float,
    reasons: Iterable[str],
    *,
    place: str = PLACE,
    lines_to_run: str = "",
    most: int = MOST_SENTENCES,
    letters: int = MOST_LETTERS,
) -> list[tuple[str, str]]:
    """What a report says below its headline and ``reasons``, by label, the most important first.

    At most this many effects are told. Names in the state of the chains have at most this many
    ``letters``.
    """
    rejected, verdict = result.rejected(alpha), result.verdict_at(alpha)
    facts = effect_facts(result, alpha, most, place=place)
    if rejected and not any(label == "Off" for label, _ in facts):
        facts.insert(0, ("Off", found_words(result, alpha)))
    if rejected and result.can_tell_effects:
        facts.append(("Run", lines_to_run or _lines_to_run(result, alpha)))
    elif verdict != "inconclusive":
        facts.append(("Power", power_words(result, alpha)))
        facts.append(("Meaning", meaning(result, alpha)))
    facts.append(("Fit", fit_words(result)))
    facts.append(("Chains", chains_words(result, letters)))
    silent = [f"{arm.name}: {arm.reason}" for arm in abstentions_beside(result, reasons)]
    facts.append(("Abstained", "; ".join(silent)))
    if result.has_own_statistic:
        facts.append(("Statistic", statistic_words(result)))
        facts.append(("Draws", draws_words(result)))
    return [(label, words) for label, words in facts if words]


def _lines_to_run(result: GofResult, alpha: float) -> str:
    """What shows all effects, and what makes better draws, where the draws know their target."""
    table, _ = effects_to_tell(result, alpha)
    better = f"; for better draws `{table.refine}`" if table is not None and table.refine else ""
    return f"`print(result.effects)` for all that was looked at{better}"


def headline(result: GofResult | Refinement, alpha: float = DEFAULT_LEVEL) -> tuple[str, str]:
    """The verdict, and the rest of the sentence, which never says that the draws are right."""
    verdict = result.verdict_at(alpha)
    words = {
        "rejected": "evidence against the draws",
        "not rejected": "no evidence against the draws",
        "inconclusive": "nothing found, but faults may hide",
    }[verdict]
    if verdict == "not rejected" and is_near_one(result.pvalue):
        words = "no sign of a fault"
    strength = "strong " if verdict == "rejected" and result.pvalue <= _STRONG else ""
    # A p-value of 1 is no number that says more than the words.
    number = "" if is_near_one(result.pvalue) else f", {p_words(result.pvalue, alpha)}"
    count = len(result.warnings)
    warned = f", with {count} warning{'s' * (count > 1)}" if count else ""
    where = f"at the level {alpha:g}{number}{warned}"
    return verdict.capitalize(), f"{where}: {strength}{words}."


def name_of_test(result: GofResult) -> str:
    """Name of the test, with its order if it has one, and the dimension."""
    name = _TESTS.get(result.method, result.method)
    order = f", order {result.settings['order']}" if "order" in result.settings else ""
    return f"{name}{order}, dimension {result.dimension}"


def needed_words(level_share: float, alpha: float = DEFAULT_LEVEL) -> str:
    """The p-value at which a part with this share of the level rejects."""
    return f"{alpha * level_share:.2g}"


def statistic_words(result: GofResult) -> str:
    """Return the statistic with its name."""
    if result.statistic_name == "z":
        return f"z = {result.statistic:.2f} ({result.alternative})"
    return f"{result.statistic_name}, {result.statistic:.4g} (large values speak against the draws)"


def draws_words(result: GofResult) -> str:
    """How many draws trained, were left out, and tested."""
    arms = result.evidence.arms
    on_all = " and the ".join(sorted(arm.name for arm in arms if arm.rows == "all rows"))
    total = result.n_train + result.n_gap + result.n_test
    abstained = bool(result.evidence.abstained) and all(arm.rows == "all rows" for arm in arms)
    if result.n_train == 0:
        text = f"all {total} tested, none needed for training"
    elif abstained:
        # Rows were set apart for an arm that did not judge.
        text = f"the {on_all} used all {total}" if on_all else f"{total}, of which none were tested"
    else:
        gap = f", {result.n_gap} left out between" if result.n_gap else ""
        text = f"{result.n_train} trained the test function{gap}, {result.n_test} tested it"
        text = f"the {on_all} used all; {text}" if on_all else text
    # Chains have the ESS of draws and scores instead, which says more.
    chains = result.diagnostics is not None and result.diagnostics.of_chains is not None
    if chains or math.isnan(result.ess):
        return text
    return f"{text}; {result.ess:.0f} effective test draws"


def size_of_draws(result: GofResult) -> str:
    """How many draws there are, and in how many chains, as in "4 chains × 1,000 draws"."""
    total = result.n_train + result.n_gap + result.n_test
    chains, longest = result.n_chains, result.n_draws
    if not chains:
        return f"{total:,} draws"
    words = f"{chains:,} chain{'s' * (chains > 1)}"
    if chains * longest == total:
        return f"{words} × {longest:,} draws"
    return f"{words} of at most {longest:,} draws, {total:,} in all"


def chains_words(result: GofResult, letters: int = MOST_LETTERS) -> str:
    """The worst R-hat and ESS of draws and scores, and divergences; empty without chains.

    Names of parameters have at most this many letters.
    """
    found = result.diagnostics
    if found is None or found.of_chains is None:
        return ""
    draws, scores = found.of_chains
    both = (("draws", draws.worst()), ("scores", scores.worst()))
    rhat = max(both, key=lambda one: _or_less(one[1].rhat, -math.inf))
    ess = min(both, key=lambda one: _or_less(one[1].ess, math.inf))
    text = (
        f"R-hat at most {rhat[1].rhat:.2f} ({rhat[0]} of {shorten(rhat[1].rhat_of, letters)}), "
        f"ESS at least {ess[1].ess:.0f} ({ess[0]} of {shorten(ess[1].ess_of, letters)})"
    )
    return text if found.sampler is None else f"{text}; {sampler_words(found.sampler)}"


def fit_words(result: GofResult) -> str:
    """What k-hat says about the importance ratios p/q of a fit; empty where q is not known."""
    found = result.diagnostics
    return "" if found is None or found.pareto_k is None else pareto_k_words(found.pareto_k)


def _or_less(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value


def abstentions_beside(result: GofResult, shown: Iterable[str]) -> list[Abstention]:
    """The arms that abstained, but for those that the shown text names."""
    text = " ".join(" ".join(shown).split())
    return [arm for arm in result.evidence.abstained if f"The {arm.name} did not judge" not in text]


def as_sentence(words: str) -> str:
    """The words with a capital letter."""
    return f"{words[:1].upper()}{words[1:]}"


def meaning(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """What a rejection means, or that a test found nothing, in plain words."""
    if not result.rejected(alpha):
        unseen = ["A distant mode that no draw visited", "a wrong balance between distant modes"]
        # Independent rows have no order.
        unseen += [] if result.settings.get("iid") else ["a chain shuffled out of its order"]
        either = ", or " if len(unseen) > 2 else " or "
        return (
            "This is no proof: small faults need more draws to show. "
            f"{', '.join(unseen[:-1])}{either}{unseen[-1]} shows in no score test."
        )
    return (
        "Draws from the target would give a statistic this far out in "
        f"{_how_often(result.pvalue)} tests."
    )


def found_words(result: GofResult, alpha: float = DEFAULT_LEVEL) -> str:
    """What a test of several parts found, and where; empty if it found nothing.

    If several arms found something, the one on all rows is shown: it is easier to read. The name
    of the part, and its rows, are in `GofResult.explain`.
    """
    arms = [arm for arm in result.evidence.arms if arm.pvalue <= alpha]
    if not arms or not result.rejected(alpha):
        return ""
    arm = next((arm for arm in arms if arm.rows == "all rows"), arms[0])
    part = arm.leading
    places = " and ".join(part.coordinates) or "all coordinates together"
    what = f"{part.words} of {places}"
    if part.direction:
        what = f"{part.words.removesuffix(', directions')} along a direction, {part.direction}"
    return what


def _how_often(pvalue: float) -> str:
    if pvalue < 1e-6:
        return "fewer than 1 in 1,000,000"
    if pvalue < 0.01:
        return f"about 1 in {float(f'{1.0 / pvalue:.1e}'):,.0f}"
    return f"about {100.0 * pvalue:.0f} in 100"


def _fact_lines(label: str, words: str, place: str, further: int) -> list[str]:
    """A fact on as many lines as it may have, of which the last says where the rest is."""
    lines = labelled(label, words)
    field = _FIELDS.get(label, "effects")
    most = _MOST_LINES.get(label, _MOST_LINES_OF_FACT) + further
    return _cut(lines, most, place.format(field), _LABEL)


def _reason_lines(reasons: tuple[str, ...], place: str, further: int) -> list[str]:
    """Why the verdict is inconclusive, one item for each reason."""
    if not reasons:
        return []
    lines = [line for reason in reasons for line in labelled("", f"- {reason}", "  ")]
    lines[0] = f"{'Why':<{_LABEL}}{lines[0][_LABEL:]}"
    return _cut(lines, _MOST_REASON_LINES + further, place.format("reasons"), _LABEL + 2)


def labelled(label: str, text: str, hanging: str = "") -> list[str]:
    """A text beside its label, on lines that fit."""
    return wrapped(text, f"{label:<{_LABEL}}", " " * _LABEL + hanging)


def _cut(lines: list[str], most: int, where: str, indent: int) -> list[str]:
    """The lines; if they are too many, the first ones and where to find the rest."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], " " * indent + f"... (in full in {where})"]


def _warning_lines(warnings: tuple[str, ...], place: str, further: int) -> list[str]:
    """Wrap the warnings; if they do not fit, say where to find them."""
    lines = [line for message in warnings for line in wrapped(message, "Warning: ", " " * 9)]
    return _cut(lines, _MOST_WARNING_LINES + further, place.format("warnings"), 9)
