"""The page of a test's result: verdict, what is off, does it matter, what next, what is unseen."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from polystein.report.effects import (
    effects_to_tell,
    hint_words,
    matters_words,
    nothing_found_words,
    unsized_words,
)
from polystein.report.lines import percent
from polystein.report.noticed import least_visible_words, power_words
from polystein.report.page import (
    NOTHING_KNOWN,
    Block,
    Origin,
    Page,
    Section,
    effects_block,
    forest_block,
    listed,
    made_section,
    rendered,
    table,
    text,
    write_document,
)
from polystein.report.pvalues import p_number
from polystein.report.seed import rng_in_call
from polystein.report.svg import share_bar
from polystein.report.text import (
    QUESTION,
    abstentions_beside,
    as_sentence,
    chains_words,
    draws_words,
    fit_words,
    found_words,
    headline,
    meaning,
    name_of_test,
    needed_words,
    size_of_draws,
    statistic_words,
)
from polystein.results.effect_rows import LEVEL
from polystein.results.effects import EffectTable
from polystein.results.result import DEFAULT_LEVEL, GofResult

#: Sentences on what is off that stand above the forest plot.
MOST_SENTENCES = 5
#: Names on a page are not cut.
MOST_LETTERS = 100
_UNSEEN = (
    "Faults that are small beside the error of these draws. More draws show smaller ones.",
    "A distant mode that no draw has visited, and a wrong balance between distant modes: scores "
    "are local.",
    "A mistake in the model: draws are compared with the target that the scores belong to.",
    "The order of rows: chains that were shuffled pass for independent draws.",
)


def write_page(
    result: GofResult,
    path: str | os.PathLike[str],
    alpha: float = DEFAULT_LEVEL,
    *,
    origin: Origin = NOTHING_KNOWN,
    overwrite: bool = False,
) -> None:
    """Write the page of a result to a file.

    Parameters
    ----------
    result : GofResult
        What a test returned.
    path : str or path-like
        File to write. An earlier page is replaced.
    alpha : float
        Level at which the verdict is worded.
    origin : Origin
        What is known about files, command and version.
    overwrite : bool
        Whether to replace also a file that polystein did not write.
    """
    write_document(result_page(result, alpha, origin), path, overwrite=overwrite)


def result_page(
    result: GofResult, alpha: float = DEFAULT_LEVEL, origin: Origin = NOTHING_KNOWN
) -> str:
    """Return the page that `write_page` writes."""
    verdict, rest = headline(result, alpha)
    effects, why_not = effects_to_tell(result, alpha)
    sections = [
        *answer_sections(result, alpha, effects, why_not, command_line=bool(origin.command)),
        *_chains(result),
    ]
    if effects is not None:
        block = effects_block("All effects", effects, "`result.effects`")
        sections.append(Section("All effects", [block]))
    sections += _parts(result, alpha)
    facts = [
        ("test", name_of_test(result)),
        ("draws", size_of_draws(result)),
        ("rows", draws_words(result)),
    ]
    if result.has_own_statistic:
        facts.insert(1, ("statistic", statistic_words(result)))
    code = reproducing_code(result)
    sections.append(made_section(facts, result.settings.items(), code, origin))
    name = name_of_test(result)
    return rendered(
        Page(
            f"{verdict}: polystein, {name}",
            QUESTION,
            result.verdict_at(alpha).replace(" ", "-"),
            f"{verdict} {rest}",
            f"{name}; {size_of_draws(result)}",
            result.warnings,
            sections,
        )
    )


def answer_sections(
    result: GofResult,
    alpha: float,
    effects: EffectTable | None,
    why_not: str = "",
    *,
    command_line: bool = False,
    rest: str = "in the table below",
) -> Iterator[Section]:
    """What people want to know, in that order; ``rest`` says where effects not drawn are."""
    rejected, verdict = result.rejected(alpha), result.verdict_at(alpha)
    if verdict == "inconclusive":
        words = "Nothing was found, but these draws cannot say much. Why, and what would decide it:"
        yield Section("Why this is inconclusive", [text(words), listed(result.reasons)])
    off: list[Block] = []
    if rejected:
        off.append(text(meaning(result, alpha)))
    if effects is not None:
        off += _effects_off(result, effects, alpha, rest)
    elif rejected:
        seen = found_words(result, alpha)
        off += [text(f"Seen in: {seen}.")] if seen else []
        off += [text(f"Effects are not told: {why_not}")] if why_not else []
    else:
        off.append(text("Nothing was found."))
    if power := power_words(result, alpha):
        off.append(text(f"The test {power}." if power.startswith("would") else f"{power}."))
        off += [listed(least)] if (least := least_visible_words(result)) else []
    if rejected and result.components:
        off.append(_features("Features by their share", result, shares=True))
    yield Section("What is off", off)
    yield Section("Does it matter?", [text(_matters(result, effects, command_line))])
    yield Section("What next", list(_next(result, effects, verdict, command_line)))
    told = result.reasons if verdict == "inconclusive" else ()
    missing = [
        f"The {one.name} did not judge: {one.reason.rstrip('.')}."
        for one in abstentions_beside(result, told)
    ]
    yield Section("What this cannot see", [listed([*_UNSEEN, *missing])])


def _effects_off(
    result: GofResult, effects: EffectTable, alpha: float, rest: str
) -> Iterator[Block]:
    found, rejected = effects.found, result.rejected(alpha)
    if found and not rejected:
        yield text(
            f"Found at {LEVEL:g} by the effects alone; the test as a whole does not reject at the "
            f"level {alpha:g}:"
        )
    if found:
        unsized = unsized_words(effects)
        single = [row for row in found if not row.direction] or list(found)
        told = [row for row in single if row.judged] if unsized else single
        yield listed(row.sentence for row in told[:MOST_SENTENCES])
        if unsized:
            yield text(f"Unsized: {unsized}.")
        if len(found) > MOST_SENTENCES:
            directions = sum(bool(row.direction) for row in found)
            among = f"{len(found) - directions} single properties"
            among += f" and {directions} combination{'s' * (directions > 1)}" if directions else ""
            yield text(f"Of {effects.looks:,} properties, {among} are off.")
    else:
        words = nothing_found_words(effects, rejected=rejected)
        yield text(f"{as_sentence(words)}.")
    bound = None if result.tolerance is None else float(result.settings["tolerance"])
    drawn = forest_block(effects, bound, rest)
    if drawn is not None:
        yield drawn


def _matters(result: GofResult, effects: EffectTable | None, command_line: bool) -> str:
    if result.tolerance is not None:
        words = matters_words(result, effects)
        return f"{as_sentence(words)}."
    option = "`--tolerance 0.1`" if command_line else "`tolerance=0.1`"
    if not result.can_tell_effects:
        option = f"`polystein.check` with {option}"
    return (
        f"No tolerance was given. {option} says whether every mean is within 0.1 posterior sd and "
        "every sd within 10 %."
    )


def _next(
    result: GofResult, effects: EffectTable | None, verdict: str, command_line: bool
) -> Iterator[Block]:
    if result.warnings:
        yield text(
            "Do what the warnings say first: the verdict is no better than what it rests on."
        )
    if verdict == "not rejected":
        words = _NOTHING_TO_DO[bool(result.warnings)]
        if effects is not None and effects.found:
            words = "The test does not reject. Look at what the effects alone found, above."
        yield text(_PASSED.get(result.tolerance or "", words))
        yield text("Report the verdict beside R-hat and ESS, which look at other faults.")
        return
    if verdict == "inconclusive":
        yield text("Do what the reasons say, and check the new draws.")
    hint = "" if effects is None else hint_words(result, effects)
    if hint:
        yield text(as_sentence(hint))
    if result.components:
        yield text("What is off, and by how much:")
        yield Block("code", "print(ps.check(draws, scores, iid=True).effects)  # chains: no iid")
    yield text("Draws that are moved by the target's own log-density are better, and show more:")
    yield Block("code", refine_line(command_line, "" if effects is None else effects.refine))


#: What next where nothing was found, by whether there are warnings.
_NOTHING_TO_DO = {
    False: "Nothing has to be done about these draws.",
    True: "Apart from that the test found nothing to mend.",
}
#: What next where the test does not reject but the tolerance is not met, or not known to be.
_PASSED = {
    "undecided": "The test found nothing to mend, but whether the draws are within the tolerance "
    "is open, for the reason above. Where it takes more draws, take more; where the gradients do "
    "not tell, run `ps.refine`, which can.",
    "beyond": "The test as a whole does not reject, but the draws are beyond the tolerance: do not "
    "use them where it matters. Look at what is farthest out, above.",
}


def refine_line(command_line: bool, call: str = "") -> str:
    """The line that moves the draws, by the call that fits them if one is known."""
    if command_line:
        return "polystein refine FILE --target module:log_density  # or --model module:function"
    if call:
        return f"refined = {call}"
    return "refined = ps.refine(draws, log_density=log_density, scores=scores)  # or model=model"


def _chains(result: GofResult) -> Iterator[Section]:
    """R-hat and ESS of every parameter, or k-hat of a fit."""
    found = result.diagnostics
    if fit := fit_words(result):
        yield Section("Fit", [text(f"{fit}.")])
    if found is None or found.of_chains is None:
        return
    words = chains_words(result, MOST_LETTERS)  # ranks the coordinates if that is quick
    names = found.of_chains[0].names
    draws, scores = (one.known() for one in found.of_chains)
    rows = [
        (name, f"{r:.3f}", f"{e:.0f}", f"{sr:.3f}", f"{se:.0f}")
        for name, r, e, sr, se in zip(names, *draws, *scores, strict=True)
    ]
    head = [("parameter", ""), *((f"{what}, {of}", "number") for of, what in _OF_CHAINS)]
    yield Section(
        "Chains",
        [text(f"{words}."), table("Chains by parameter", head, rows, "`result.diagnostics`")],
    )


_OF_CHAINS = (("draws", "R-hat"), ("draws", "ESS"), ("scores", "R-hat"), ("scores", "ESS"))


def _parts(result: GofResult, alpha: float) -> Iterator[Section]:
    """What the test looked at: its features, or its parts with their p-values."""
    if result.components and not result.rejected(alpha):
        yield Section("Features of the test", [_features("Features of the test", result)])
    if not result.evidence.arms:
        return
    head = [
        ("part", ""),
        ("looks at", ""),
        ("where", ""),
        ("rows", "keep"),
        ("p", "number"),
        ("needed", "number"),
    ]
    rows = [
        (
            part.name,
            part.words,
            part.direction or " and ".join(part.coordinates),
            arm.rows,
            p_number(part.pvalue),
            needed_words(part.level_share, alpha),
        )
        for arm in result.evidence.arms
        for part in sorted(arm.parts, key=lambda part: part.adjusted)
    ]
    words = f"Each part has a share of the level {alpha:g}, and its p-value needs to be below that."
    yield Section("Parts of the test", [text(words), table("Parts of the test", head, rows)])


def _features(label: str, result: GofResult, *, shares: bool = False) -> Block:
    head = [("feature", ""), ("looks at", ""), ("weight", "number"), ("z", "number")]
    head += [("share", "number"), ("of the statistic", "draw")] if shares else []
    rows = [
        (row.name, row.words, f"{row.weight or 0.0:.3f}", f"{row.z:.2f}")
        + ((percent(row.share), share_bar(row.share)) if shares else ())
        for row in result.explain()
    ]
    return table(label, head, rows, "`result.explain()`")


def reproducing_code(result: GofResult) -> str:
    """The call that gives the result again, with its options."""
    function = f"{result.method.replace('-', '_')}_test" if result.method != "check" else "check"
    settings = {
        name: value
        for name, value in result.settings.items()
        if value is not None and name != "rng"
    }
    if result.components and result.alternative == "greater":
        settings["alternative"] = "greater"
    rng, says = rng_in_call(result.settings)
    options = [f"{name}={_literal(value)}" for name, value in settings.items()]
    lines = "".join(f"    {one},\n" for one in ["draws, scores", *options, *([rng] if rng else [])])
    return f"import polystein as ps\n\nresult = ps.{function}(\n{lines})" + (
        f"  # {says}" if says else ""
    )


def _literal(value: object) -> str:
    """A setting as it stands in a call: rules by their constructors, a basis by its name."""
    if isinstance(value, str) and value[:1].isupper():
        if value.endswith(")"):
            return f"ps.{value}"
        value = re.sub("(?<=[a-z])(?=[A-Z])", "-", value).lower()
    return repr(value)
