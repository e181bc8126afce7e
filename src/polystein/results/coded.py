"""Sentences for people that carry a code for programs: reasons and hints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polystein.errors import InputError

#: What an own sentence of a caller has, and one of a version before there were codes.
UNKNOWN = "other"
#: Codes of reasons, and what each of them asks for. They stay as they are: programs branch on them.
REASONS = {
    "chains-disagree": "R-hat of `parameter` is too large: run longer, with more warm-up",
    "few-effective-draws": "the ESS of `parameter` is too small: run longer",
    "constant-coordinate": "`parameter` never changes: leave it out, or mend the sampler",
    "few-draws": "independent draws are too few: take more",
    "part-did-not-judge": "a part of the test could not judge; the text says why",
    "divergences": "draws diverged: reparametrise the model, or take smaller steps",
    "stuck-chains": "chains stay at one row for long: use smaller steps, or a wider proposal",
    "dominant-draws": "a few draws outweigh all others in `parameter`: look at their scores",
    "few-flips": "sign flips are too few to allow for so many fits: take more draws",
    "steps-not-accepted": "the steps of `refine` are hardly accepted: look at the log-density",
    "hardly-moved": "`parameter` hardly moved: take more `transitions`",
    "few-batches": "the draws are worth too few independent batches: run longer",
    UNKNOWN: "a sentence without a code",
}
#: Codes of what to do next about effects that were found.
ACTIONS = (
    "check-scores",
    "unconstrain",
    "look-at-chain",
    "leave-out-stuck-chain",
    "drop-starts",
    "full-rank-or-mcmc",
    "smaller-step",
    "look-for-scale",
    "longer-warm-up",
    "transform-or-mcmc",
    "look-for-outliers",
    "look-at-pairs",
    "look-at-direction",
    "look-at-parameter",
    "longer-fit",
    "refine",
)


class CodedText(str):
    """A sentence that programs can tell by its ``code``, whatever its words become.

    Attributes
    ----------
    code : str
        One of a fixed list, such as ``"chains-disagree"``.
    parameter : str
        The parameter that it is about; empty if it is about all.

    Examples
    --------
    >>> reason = CodedText("R-hat is 1.3 for `tau`.", "chains-disagree", "tau")
    >>> print(reason, reason.code, reason.parameter)
    R-hat is 1.3 for `tau`. chains-disagree tau
    """

    code: str
    parameter: str

    def __new__(cls, text: str, code: str = UNKNOWN, parameter: str = "") -> CodedText:
        """A sentence with its code."""
        made = super().__new__(cls, text)
        made.code, made.parameter = code, parameter
        return made

    @property
    def text(self) -> str:
        """The sentence alone."""
        return str(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def to_dict(self) -> dict[str, str]:
        """Code, parameter and text, ready for JSON."""
        return {"code": self.code, "parameter": self.parameter, "text": self.text}


def coded(sentences: Iterable[str]) -> tuple[CodedText, ...]:
    """Sentences with codes; those that have none yet are of the code ``"other"``."""
    if isinstance(sentences, str):
        raise InputError(f"`reasons` must be a tuple of sentences; got {sentences!r}, a string")
    return tuple(one if isinstance(one, CodedText) else CodedText(one) for one in sentences)


def coded_from(values: Any) -> tuple[CodedText, ...]:
    """What was stored of sentences: their dictionaries, or plain text before there were codes.

    A code that this version does not know is ``"other"``.
    """
    if not isinstance(values, list | tuple):
        raise TypeError(f"reasons must be a list, and are {values!r}")
    found = []
    for one in values:
        if isinstance(one, str):
            found.append(CodedText(one))
        elif isinstance(one, Mapping) and all(isinstance(part, str) for part in one.values()):
            code = one["code"] if one["code"] in REASONS else UNKNOWN
            found.append(CodedText(one["text"], code, one["parameter"]))
        else:
            raise TypeError(f"a reason must have a code, a parameter and a text, and is {one!r}")
    return tuple(found)
