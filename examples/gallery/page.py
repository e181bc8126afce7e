"""The page: Markdown with two pictures of every fault, for light and for dark."""

import textwrap

from examples.gallery import views
from examples.gallery.faults import FAULTS, REFUSED
from examples.gallery.judge import RUNS, judge, shortened
from polystein.report.text import p_words

HEAD = f"""# A gallery of faults

Twenty faults that people meet. Each has a picture, the verdict of `ps.check`, the report, and
what to do. Some faults are not seen, and one is harmless. One command makes this page, and the
build of the site runs it:

```bash
python -m examples.gallery
```

Descriptions and advice are written by hand. Verdicts, p-values and reports are what the code said
in that run. The command fails if a verdict is not the one that the text expects. *Fresh runs* are
{RUNS} other sets of draws with the same fault. A test at the level 0.05 also rejects about one
right set of draws in twenty, so a fault that is not seen has some rejections, too. The line
*Run* is left out of the reports. [How to read a result](../reading.md) explains the other lines.
[Blind spots](../blind_spots.md) says why some faults cannot be seen.
"""
TABLE = "| fault | verdict | p | the same in fresh runs |\n|---|---|---|---|"


def anchor(fault):
    return fault.name.lower().replace(" ", "-")


def counted(counts):
    """Verdicts with their counts, the most frequent first."""
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())


def probability(judged):
    return (
        "none"
        if judged.pvalue is None
        else p_words(judged.pvalue).removeprefix("p ").removeprefix("= ")
    )


def fenced(words):
    lines = [textwrap.fill(line, 88) if len(line) > 88 else line for line in words.splitlines()]
    return "```text\n" + "\n".join(lines) + "\n```"


def section(fault, judged, pictures, words):
    """What the page has of one fault."""
    about = f"{fault.name}: {words}"
    shown = [
        f"```{{image}} {pictures}/{anchor(fault)}-{theme}.png\n"
        f":alt: {about}\n:class: only-{theme}\n```"
        for theme in views.COLOURS
    ]
    p = "" if judged.pvalue is None else f", {p_words(judged.pvalue)}"
    parts = [
        f"## {fault.name}",
        fault.happened,
        *shown,
        f"**{judged.verdict.capitalize()}**{p}. In {RUNS} fresh runs: {counted(judged.counts)}.",
    ]
    said = judged.words if judged.verdict == REFUSED else shortened(judged.words)
    parts.append(fenced(said))
    if judged.refined is not None:
        parts += ["`ps.refine` of the same draws:", fenced(shortened(str(judged.refined)))]
    return "\n\n".join([*parts, f"**What to do.** {fault.advice}"])


def write(path, told=lambda fault, judged: None):
    """Judge all faults, and write the page and its pictures, in a folder beside it."""
    pictures = path.with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    rows, sections = [], []
    for fault in FAULTS:
        judged = judge(fault)
        told(fault, judged)
        for theme in views.COLOURS:
            picture = pictures / f"{anchor(fault)}-{theme}.png"
            words = views.draw(picture, fault, judged.shown, theme)
        number = probability(judged).replace(" ", "\u00a0")
        cells = [judged.verdict, number, f"{judged.counts[judged.verdict]} of {RUNS}"]
        rows.append(f"| [{fault.name}](#{anchor(fault)}) | {' | '.join(cells)} |")
        sections.append(section(fault, judged, pictures.name, words))
    table = "\n".join([TABLE, *rows])
    text = "\n\n".join([HEAD.rstrip(), table, *sections])
    path.write_text(text + "\n", encoding="utf-8")
