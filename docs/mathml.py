"""Formulas as MathML, which browsers show without a script: docutils converts them."""

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def visit_inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_displayed(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    self.body.append(f'<div class="math">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer in place of MathJax, which would be fetched."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_displayed, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
