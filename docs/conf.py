"""How Sphinx makes the pages of this folder into a site that needs no network: `make docs`."""

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


def setup(app: Sphinx) -> None:
    """Show files of data as they are: Pygments knows no CSV."""
    app.add_lexer("csv", TextLexer)
