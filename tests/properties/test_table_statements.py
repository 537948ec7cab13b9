"""Laws of ``verify.sql`` of tables: DuckDB counts just the classes that break a rule by its definition."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.properties.test_verified_rules import RECORDS, RULES, in_order

from cloister.io import write_csv, write_parquet
from cloister.shapes.table.format.guarantee import Guarantee
from cloister.shapes.table.verify import statements
from cloister.verification.script import Script

IN_SQL = [name for name in RULES if name not in ("t-closeness hierarchical", "delta-presence", "k-map", "k-patients")]


def released(folder, frame, rule, suffix="csv"):
    """Write a release of records of which none was suppressed; return what its script finds, by promise."""
    sizes = frame.group_by("qi").len()["len"]
    n, least, most = frame.height, int(sizes.min()), int(sizes.max())
    risk = {"highest": 1 / least, "average": len(sizes) / n, "classes": len(sizes)}
    risk |= {"smallest_class": least, "largest_class": most}
    (folder / "release.json").write_text(json.dumps({"records": {"released": n, "suppressed": 0}, "risk": risk}))
    write = write_csv if suffix == "csv" else write_parquet
    (folder / f"data.{suffix}").unlink(missing_ok=True)
    write(frame, folder / f"data.{suffix}")
    promised = Guarantee(("qi", "dx"), {"qi": 0}, 2, n, 0, (rule,))
    facts = statements.facts_of_promise(promised, (least, most), "," if suffix == "csv" else None)
    found = Script(statements.TEMPLATE, facts | {"codes": None}).run(folder, ["release.json", f"data.{suffix}"])
    return [one.violations for one in found]


@pytest.mark.parametrize("name", IN_SQL)
@given(records=RECORDS, data=st.data(), suffix=st.sampled_from(["csv", "parquet"]))
@examples(25)
def test_classes_that_break_a_rule_are_counted(name, records, data, suffix, tmp_path_factory):
    """Violations are the classes that break a rule by its definition; all else holds of a sorted file."""
    rule, definition = data.draw(RULES[name])
    frame = in_order(pl.DataFrame(records, schema={"qi": pl.String, "dx": pl.String}, orient="row"))

    columns, n, broken, order, risk = released(tmp_path_factory.mktemp("release"), frame, rule, suffix)

    judged = definition(records, [value for _, value in records])
    assert (columns, n, order, risk) == (0, 0, 0, 0)
    assert broken == sum(not holds for holds in judged.values())


NAMES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8).filter(lambda name: name.strip()),
    min_size=2,
    max_size=4,
    unique=True,
)


@given(NAMES, st.sampled_from([",", ";", "\t", "|"]))
@examples(60)
def test_any_names_of_columns_and_delimiters(tmp_path_factory, names, delimiter):
    """Whatever columns are called, capitals and line ends included, the script finds these and no others."""
    folder = tmp_path_factory.mktemp("release")
    frame = pl.DataFrame({name: [f"{place}"] * 3 for place, name in enumerate(names)})
    write_csv(frame, folder / "data.csv", delimiter)
    risk = {"highest": 1 / 3, "average": 1 / 3, "classes": 1, "smallest_class": 3, "largest_class": 3}
    (folder / "release.json").write_text(json.dumps({"records": {"released": 3, "suppressed": 0}, "risk": risk}))
    rules = ({"model": "k-anonymity", "k": 2}, {"model": "l-diversity", "column": names[1], "l": 1})
    for columns, broken in ((names, 0), ([*names[:-1], names[-1] + "x"], 1)):
        promised = Guarantee(tuple(columns), {columns[0]: 0}, 2, 3, 0, rules[: 1 if broken else 2])
        facts = statements.facts_of_promise(promised, (3, 3), delimiter) | {"codes": None}
        found = Script(statements.TEMPLATE, facts).run(folder, ["release.json", "data.csv"])

        assert [one.violations for one in found] == [broken] + [0] * (len(found) - 1)
