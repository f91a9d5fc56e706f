"""Formulas as MathML, which browsers draw themselves: the site needs no network and no script."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _draw(translator, node):
    as_block = isinstance(node, nodes.math_block)
    if as_block:
        translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    if as_block:
        translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_draw, None), (_draw, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
