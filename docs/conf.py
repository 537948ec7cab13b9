"""How Sphinx makes the pages of this folder into a site that needs no network: `make docs`."""

import json
from html import escape

from docutils.nodes import document
from myst_parser.parsers.sphinx_ import MystParser
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import cloister

project, author = "cloister", "the cloister team"
version = release = cloister.__version__
copyright = f"2026, {author}"  # noqa: A001  (the name Sphinx asks for)

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"cloister {release}"
html_show_sphinx = False

# Links between pages name headings as GitHub does.
myst_heading_anchors = 3
autodoc_member_order = "alphabetical"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
napoleon_numpy_docstring, napoleon_google_docstring = True, False
napoleon_use_ivar, napoleon_use_rtype = True, False
# Types are told by their short names, which several classes have.
suppress_warnings = ["ref.python"]


class NotebookParser(MystParser):
    """Shows a notebook with its stored outputs; nothing runs, and Jupyter is not needed."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: document) -> None:
        """Parse the cells as one page of Markdown."""
        cells = json.loads(inputstring)["cells"]
        super().parse("\n\n".join(part for cell in cells for part in parts_of(cell)), document)


def parts_of(cell: dict) -> list[str]:
    """Return a cell as Markdown: its text, or its code and then each output, as a picture or page if it has one."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    found = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", [])})
        shown = data.get("image/svg+xml") or data.get("text/html")
        text = "".join(shown) if shown else f"<pre>{escape(''.join(data['text/plain']))}</pre>"
        found.append(f'`````{{raw}} html\n<div style="overflow-x: auto; margin-bottom: 1rem">{text}</div>\n`````')
    return found


def setup(app: Sphinx) -> None:
    """Show files of data as they are, as Pygments knows no CSV, and notebooks as pages."""
    app.add_lexer("csv", TextLexer)
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
