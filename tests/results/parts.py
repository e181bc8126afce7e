"""Parts and arms made by hand."""

from polystein.results.evidence import Arm, Part


def part(pvalue: float, share: float, name: str = "some part") -> Part:
    return Part(name, "location", ("x",), (), pvalue, share)


def arm(name: str, pvalue: float, *parts: Part) -> Arm:
    return Arm(name, "all rows", pvalue, parts or (part(pvalue, 1.0),))
