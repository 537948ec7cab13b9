"""The promises of released claims: SQL breaks where an oracle without SQL breaks, on random files and changed ones."""

import hashlib
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_data import plan
from tests.made.examples import examples
from tests.oracles.verified_claims import broken

from cloister.shapes.claims.format.group_tables import coarser_groups
from cloister.shapes.claims.format.hierarchies import OF_GROUPS, OF_NUMBERS, TOP_CODED
from cloister.shapes.claims.format.manifest import ClaimsPromise
from cloister.shapes.claims.format.released_columns import ClaimsForm, ReleasedColumn, WrittenClaims
from cloister.shapes.claims.verify.statements import find_broken

TEXTS = st.sampled_from(["a", "B", "é", "aa", "*", None])
CLAIM = st.tuples(TEXTS, TEXTS, st.sampled_from(["d1", "d2", None]), st.booleans())
PATIENTS = st.lists(st.tuples(TEXTS, TEXTS, st.lists(CLAIM, max_size=3), st.integers(1, 3)), min_size=1, max_size=4)
COLUMNS = {"patients": ("mrn", "sex", "ward", "claims_truncated"), "claims": ("mrn", "dx", "note", "doctor", "sup_dx")}


def form_of(ids, hierarchy="suppress", level=0, top=1):
    """Columns of both files: one quasi-identifier each, one as recorded, a pseudonym, and flags."""
    quasi = ReleasedColumn(role="quasi-identifier", hierarchy=hierarchy, level=level, top=top)
    number, kept, flag = (
        ReleasedColumn(role="identifier", ids=ids),
        ReleasedColumn(role="keep"),
        ReleasedColumn(role="flag"),
    )
    doctor = ReleasedColumn(role="pseudonym", numbered_with="provider")
    return ClaimsForm(
        patients=dict(zip(COLUMNS["patients"], (number, quasi, kept, flag), strict=True)),
        claims=dict(zip(COLUMNS["claims"], (number, quasi, kept, doctor, flag), strict=True)),
    )


def promise_of(form, threshold=1.0):
    """A promise about such columns; nobody simulates its risk."""
    asked = plan()
    return ClaimsPromise(form, replace(asked, risk=replace(asked.risk, threshold=threshold)), None)


def in_order(row):
    """A row as it sorts: what is missing comes first."""
    return [(cell is not None, cell or "") for cell in row]


def written(patients, ids):
    """Both files in released order, with ids and pseudonyms that follow from it, as rows."""
    people = []
    for sex, ward, claims, times in patients:
        rows = sorted(
            ((None if hidden else dx, note, doctor, "1" if hidden else "0") for dx, note, doctor, hidden in claims),
            key=lambda row: in_order((row[0], row[1], row[3])),
        )
        people += [(sex, ward, rows)] * times
    hashes = [hashlib.sha256(f"{place}".encode()).hexdigest() for place in range(len(people))]
    named = sorted(
        zip(people, hashes, strict=True),
        key=lambda one: (
            in_order(one[0][:2]),
            [in_order((dx, note, flag)) for dx, note, _, flag in one[0][2]],
            one[1] if ids == "hmac" else "",
        ),
    )
    files, met = ([], []), {}
    for number, ((sex, ward, rows), name) in enumerate(named, start=1):
        own = name if ids == "hmac" else str(number)
        files[0].append([own, sex, ward, "0"])
        for dx, note, doctor, flag in rows:
            other = doctor and str(met.setdefault(doctor, len(met) + 1))
            files[1].append([own, dx, note, other, flag])
    return files


def frames_of(files):
    """Both files as they are held."""
    frames = [
        pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS[table], pl.String), orient="row")
        for table, rows in zip(COLUMNS, files, strict=True)
    ]
    return WrittenClaims.of_frames(*frames)


def changed(draw, files):
    """The same files with a row less, twice or elsewhere, or with another cell."""
    rows = draw(st.sampled_from([own for own in files if own]))
    one, other = (draw(st.integers(0, len(rows) - 1)) for _ in range(2))
    kind = draw(st.sampled_from(["cell", "swap", "drop", "double"]))
    if kind == "cell":
        column = draw(st.integers(0, len(rows[one]) - 1))
        cell = st.sampled_from([row[column] for row in rows]) | st.sampled_from(["0", "1", "2", "a", "*", None])
        rows[one] = [*rows[one][:column], draw(cell), *rows[one][column + 1 :]]
    elif kind == "swap":
        rows[one], rows[other] = rows[other], rows[one]
    elif kind == "drop":
        del rows[one]
    else:
        rows.insert(one, rows[one])
    return files


@given(PATIENTS, st.sampled_from(["number", "hmac"]), st.sampled_from([1.0, 0.5, 0.34]), st.booleans(), st.data())
@examples(400)
def test_both_find_the_same(patients, ids, threshold, is_changed, data):
    """Random patients and claims, as a release holds them or with one change: SQL breaks where the oracle breaks."""
    files, promise = written(patients, ids), promise_of(form_of(ids), threshold)
    files = frames_of(changed(data.draw, files) if is_changed else files)
    in_sql = [one.promise for one in find_broken(files, promise) if one.violations]

    assert bool(in_sql) == bool(broken(files, promise)), in_sql


LEVELS = [(hierarchy, level) for hierarchy in OF_NUMBERS for level in range(len(hierarchy.levels) + 2)]
NUMBERS = [*map(str, range(800)), "5000", "36525", "36526", "80+", "15+", "162+"]
OTHERS = ["*", "", "007", "[0-4", "[1-5]", "[80-89]", "[0-1) weeks", "week", "week 07", "none ", "3 months", "a"]


def labels_broken(texts, hierarchy, level, top):
    """How many labels SQL finds that are none of a level, of patients with one each."""
    rows = [[str(place), text, None, "0"] for place, text in enumerate(texts, start=1)]
    files = frames_of((rows, []))
    found = find_broken(files, promise_of(form_of("number", hierarchy, level, top)))
    own = [one.violations for one in found if one.promise.startswith("labels of patients are")]
    return own[0] if own else None


@pytest.mark.parametrize(("hierarchy", "level"), LEVELS, ids=lambda one: getattr(one, "kind", one))
def test_labels_of_numbers_are_those_of_their_level(hierarchy, level):
    """Labels of all levels, of this hierarchy and of others, and what is none: SQL refuses all that no number has."""
    every = {label(number) for one in OF_NUMBERS for label in (str, *one.levels) for number in NUMBERS}
    texts = sorted({*every, *OTHERS, *NUMBERS} - {""})
    if level == 0:
        own = {text for text in texts if hierarchy.numbers.covers(text)}
    elif level > len(hierarchy.levels):
        own = {"*"}
    else:
        label = hierarchy.levels[level - 1]
        own = {label(str(number)) for number in range(40_000)}
        own |= {text for text in texts if TOP_CODED.fullmatch(text)}

    assert labels_broken(texts, hierarchy.kind, level, len(hierarchy.levels) + 1) == len({*texts} - own)


@pytest.mark.parametrize("kind", OF_GROUPS)
def test_labels_above_groups_are_known(kind):
    """The level above groups has the shipped names of its role, and of the groups themselves nothing is known."""
    own = {coarser for (role, _), coarser in coarser_groups().items() if role == OF_GROUPS[kind]} | {"other"}
    every = {*coarser_groups().values(), "other", "*", "a"}

    assert labels_broken(sorted(every), kind, 1, 2) == len(every - own)
    assert labels_broken(sorted(every), kind, 0, 2) is None
