"""How Sphinx makes the pages of this folder into a site that needs no network: `make docs`."""

import json
import re
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
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/mark.svg"
html_copy_source = False
# The colours of the application, src/cloister/web/static/app.css; the fonts are the reader's own.
FONTS = {
    "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif'
}
LIGHT = {
    "color-brand-primary": "#24618f",
    "color-brand-content": "#1f5780",
    "color-brand-visited": "#1f5780",
    "color-background-secondary": "#f6f8fa",
    "color-sidebar-item-background--hover": "#eef3f8",
    "color-code-background": "#f6f8fa",
    "site-card": "#ffffff",
    "site-tint": "#eef3f8",
    "site-on-accent": "#ffffff",
}
DARK = {
    "color-brand-primary": "#8cc0e8",
    "color-brand-content": "#8cc0e8",
    "color-brand-visited": "#8cc0e8",
    "color-background-primary": "#14181d",
    "color-background-secondary": "#1b2026",
    "color-sidebar-item-background--hover": "#232b35",
    "color-code-background": "#1b2026",
    "site-card": "#1b2026",
    "site-tint": "#232b35",
    "site-on-accent": "#10151a",
}
html_theme_options = {"light_css_variables": FONTS | LIGHT, "dark_css_variables": DARK}

# Links between pages name headings as GitHub does.
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
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
        super().parse(
            "\n\n".join(part for cell in cells for part in parts_of(cell)), document
        )


def parts_of(cell: dict) -> list[str]:
    """Return a cell as Markdown: its text, or its code and then each output, as a picture or page if it has one."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    found = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", [])})
        shown = data.get("image/svg+xml") or data.get("text/html")
        text = (
            "".join(shown)
            if shown
            else f"<pre>{escape(''.join(data['text/plain']))}</pre>"
        )
        found.append(
            f'`````{{raw}} html\n<div class="notebook-output">{text}</div>\n`````'
        )
    return found


def show_file_names(app: Sphinx, page: str, text: list[str]) -> None:
    """Write the name of a file above its block: ```csv patients.csv."""
    del app, page
    named = r"^```(\w+) ([\w./-]+)$(.*?^```$)"
    text[0] = re.sub(
        named,
        r"```{code-block} \1\n:caption: \2\n\3",
        text[0],
        flags=re.MULTILINE | re.DOTALL,
    )


def without_constraints(kind: str) -> str:
    """Return the text of a type without what pydantic checks: Annotated[int, ...] is int."""
    while (start := kind.find("Annotated[")) >= 0:
        depth, comma = 0, 0
        for at in range(start + len("Annotated["), len(kind)):
            depth += (kind[at] in "[({") - (kind[at] in "])}")
            comma = comma or (at if kind[at] == "," and depth == 0 else 0)
            if depth < 0:
                break
        kind = kind[:start] + kind[start + len("Annotated[") : comma] + kind[at + 1 :]
    return kind


def simplify_types(app: Sphinx, *_: object) -> None:
    """Show plain types in the reference of Python; the constraints are in the text of each parameter."""
    for kinds in app.env.current_document.autodoc_annotations.values():
        kinds.update({name: without_constraints(kind) for name, kind in kinds.items()})


def setup(app: Sphinx) -> None:
    """Show files of data as they are, as Pygments knows no CSV, and notebooks as pages."""
    app.connect("source-read", show_file_names)
    app.connect(
        "object-description-transform", simplify_types, priority=400
    )  # before types are written
    app.add_lexer("csv", TextLexer)
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
