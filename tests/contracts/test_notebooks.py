"""The notebooks of the documents run from top to bottom and show what they print.

``CLOISTER_RENEW=1 pytest -n 0 tests/contracts/test_notebooks.py`` stores the outputs anew; charts become SVG, for which
it needs the extra ``bench``. Compared is text alone: pages and charts have tests of their own.
"""

import ast
import io
import json
import logging
import os
from contextlib import redirect_stdout

import pytest
from house import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))
MOST_CELLS = 13


def lines(text):
    """A text as notebooks keep it: lines with their ends."""
    return text.splitlines(keepends=True)


def run_cell(source, names):
    """Run a cell and return what it prints and the value of its last expression, None without one."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, "a cell", "exec"), names)
        value = None if last is None else eval(compile(last, "a cell", "eval"), names)
    return printed.getvalue(), value


def texts_of(printed, value):
    """What a notebook shows as text: what is printed, and the value."""
    shown = [] if value is None else ["".join(lines(repr(value)))]
    return ([printed] if printed else []) + shown


def stored_texts(cell):
    """The same of the outputs that are stored."""
    return ["".join(one["text"] if "text" in one else one["data"]["text/plain"]) for one in cell["outputs"]]


def outputs_of(printed, value):
    """Outputs to store: text, with the page of what has one, or the picture of a chart."""
    found = [{"output_type": "stream", "name": "stdout", "text": lines(printed)}] if printed else []
    if value is None:
        return found
    data = {"text/plain": lines(repr(value))}
    if type(value).__module__.startswith("altair."):
        from vl_convert import vegalite_to_svg

        data["image/svg+xml"] = lines(vegalite_to_svg(json.dumps(value.to_dict())))
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return [*found, {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}]


def test_there_are_notebooks_on_a_table_on_omop_and_on_codes():
    """Each way to begin has one."""
    assert [path.stem for path in NOTEBOOKS] == ["codes", "omop", "table"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path, tmp_path, monkeypatch):
    """Every code cell runs, in order, and its text is the one in the file; a notebook is short."""
    pytest.importorskip("altair")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging.getLogger("cloister"), "disabled", True)  # notes on standard error
    notebook, names = json.loads(path.read_text(encoding="utf-8")), {}
    assert len(notebook["cells"]) <= MOST_CELLS
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            printed, value = run_cell("".join(cell["source"]), names)
            if os.environ.get("CLOISTER_RENEW"):
                cell["outputs"] = outputs_of(printed, value)
            assert stored_texts(cell) == texts_of(printed, value), f"cell {number} of {path.name} is stale"
    if os.environ.get("CLOISTER_RENEW"):
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
