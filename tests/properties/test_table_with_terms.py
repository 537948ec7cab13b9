"""Tables whose codes are generalized inside classes: every class is k^m-anonymous, and each record keeps its terms."""

from contextlib import nullcontext
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.made.examples import examples
from tests.made.tables_with_codes import METHODS, asked_of, protect, tables_with_codes
from tests.oracles import terms_in_classes as oracle

from cloister.errors import GuaranteeViolation, NoSafeRelease
from cloister.io import Tally
from cloister.shapes.codes.policy import UtilityPolicy
from cloister.shapes.table.format.manifest import guarantee_of
from cloister.shapes.table_with_codes.format.data import CodesRequested
from cloister.shapes.table_with_codes.verify.statements import find_broken_terms
from cloister.verification.folder import verify_folder

methods = st.sampled_from(METHODS)
OF_CODES = ("cba", "ugaclip", "generalization", "apriori")
POLICY = UtilityPolicy.of({"one": ["a", "b"], "two": ["c", "d"], "three": ["e", "f"]})


@st.composite
def asked_codes(draw, m=None):
    """A request by any method that generalizes, with or without a utility policy."""
    m = draw(st.integers(1, 3)) if m is None else m
    method = draw(st.sampled_from(OF_CODES))
    policy = draw(st.sampled_from([None, None, POLICY])) if method != "apriori" else None
    return CodesRequested("codes", m, policy=policy, method=method)


def protected(frame, request, asked):
    """The release; examples without a safe one are left out."""
    if asked.policy is not None:
        present = {code for cell in frame["codes"] for code in cell.split()}
        sets = [each & present for each in asked.policy.constraints]
        asked = CodesRequested(
            asked.column, asked.m, UtilityPolicy.of({str(n): sorted(each) for n, each in enumerate(sets) if each}),
            method=asked.method,
        )  # fmt: skip
    try:
        return protect(frame, request, asked)
    except NoSafeRelease:
        assume(False)


def rows_of(frame):
    """The class and the cell of each released record; stars are none."""
    shown = frame.select("age", "sex", "codes").cast(pl.String).rows()
    return [((age, sex), cell) for age, sex, cell in shown if cell != "*"]


@examples(60)
@given(tables_with_codes(), st.integers(2, 4), asked_codes(), methods)
def test_somebody_who_knows_the_class_and_m_codes_finds_k_records(frame, k, asked, method):
    """By the definition every class has each set of up to m terms k times or not at all; the verifier agrees."""
    release = protected(frame, asked_of(k, **method), asked)
    rows = rows_of(release.frame)

    assert oracle.unprotected(rows, k, asked.m) == {}
    assert oracle.malformed(rows, k) == set()
    assert release.verify().holds


@examples(60)
@given(tables_with_codes(most=24), asked_codes(), methods)
def test_each_record_has_the_terms_of_its_patient(frame, asked, method):
    """By the crosswalk; without a utility policy CBA, UGACLIP and AA suppress nothing; terms keep to the policy."""
    release = protected(frame, asked_of(2, **method), asked)
    known = dict(release.custody.crosswalk.with_columns(pl.col("released").cast(pl.Int64)).iter_rows())
    true = dict(frame.select("id", "codes").iter_rows())
    cells = oracle.by_class(rows_of(release.frame))

    for number, age, sex, cell in release.frame.select("id", "age", "sex", "codes").iter_rows():
        own = true[known[number]].split()
        assert (cell is not None) == bool(own)
        if own:
            found = cells[str(age) if age is not None else None, sex]
            assert cell == oracle.expected(own, found)
            assert asked.method == "generalization" or asked.policy is not None or not oracle.suppressed(own, found)
    if asked.policy is not None and asked.method != "apriori":
        sets = [*asked.policy.constraints]
        for term in {term for found in cells.values() for cell in found for term in oracle.terms_of(cell)}:
            assert any({*oracle.codes_of(term)} <= each for each in sets)


@examples(40)
@given(tables_with_codes(most=30, empty=False), asked_codes(m=2), methods, st.data())
def test_a_release_that_was_changed_is_rejected(frame, asked, method, data):
    """A term put back to one of its codes, a term moved to another row, a term less: none passes."""
    release = protected(frame, asked_of(2, **method), asked)
    cells = release.frame["codes"].to_list()
    row = data.draw(st.sampled_from(range(len(cells))))
    terms = oracle.terms_of(cells[row])
    assume(terms)
    term = data.draw(st.sampled_from(terms))
    rest = [one for one in terms if one != term]

    def found_in(changed):
        frame = release.frame.with_columns(codes=pl.Series(changed))
        return find_broken_terms(frame, guarantee_of(release.derived.stated), "codes", 2, asked.m)

    def is_rejected(changed):
        return not release._check(Tally(release.frame.with_columns(codes=pl.Series(changed)))).holds

    assert is_rejected([*cells[:row], " ".join(rest) or oracle.NOTHING, *cells[row + 1 :]])
    if term.startswith("("):
        back = " ".join(sorted([*rest, oracle.codes_of(term)[0]]))
        assert is_rejected([*cells[:row], back, *cells[row + 1 :]])
        assert any(one.violations for one in found_in([*cells[:row], back, *cells[row + 1 :]]))
        assert is_rejected([cell.replace(term, oracle.codes_of(term)[0]) for cell in cells])
    others = [place for place, cell in enumerate(cells) if term not in oracle.terms_of(cell)]
    if others:
        other = data.draw(st.sampled_from(others))
        moved = [*cells]
        moved[row] = " ".join(rest) or oracle.NOTHING
        moved[other] = " ".join(sorted([*oracle.terms_of(cells[other]), term]))
        assert is_rejected(moved)


@examples(80)
@given(tables_with_codes(most=20), asked_codes(), st.integers(2, 4), st.integers(1, 3), st.data())
def test_sql_counts_as_the_definition(frame, asked, k, m, data):
    """Of any cells, also changed ones, SQL finds rare sets of terms where the enumeration does."""
    release = protected(frame, asked_of(2), asked)
    cells = release.frame["codes"].to_list()
    for row in data.draw(st.lists(st.sampled_from(range(len(cells))), max_size=3)):
        other = data.draw(st.sampled_from(cells))
        cells[row] = (cells[row] and other) or cells[row]
    changed = release.frame.with_columns(codes=pl.Series(cells, dtype=pl.String))
    promised = guarantee_of(release.derived.stated)
    rare, empty, terms = find_broken_terms(changed, promised, "codes", k, m)[:3]

    assert (rare.violations > 0) == bool(oracle.unprotected(rows_of(changed), k, m))
    assert (empty.violations + terms.violations > 0) == bool(oracle.malformed(rows_of(changed), k))


@examples(40)
@given(tables_with_codes(most=24), asked_codes(), methods, st.randoms())
def test_the_order_of_rows_changes_nothing(frame, asked, method, draw):
    """Equal patients in another order, with other ids, give the same release."""
    order = draw.sample(range(frame.height), frame.height)
    other = frame[order].with_columns(id=pl.Series([f"other {number}" for number in range(frame.height)]))
    one = protected(frame, asked_of(2, **method), asked)
    two = protected(other, asked_of(2, **method), asked)

    assert one.frame.equals(two.frame)
    assert one.codebook.equals(two.codebook)
    assert one.summary()["codes"] == two.summary()["codes"]


@examples(60)
@given(tables_with_codes(most=14), asked_codes(), methods, st.data())
def test_terms_are_compared_with_an_original_as_defined(frame, asked, method, data):
    """Of an original with other codes the verifier says what the enumeration says: whether the release could be its."""
    release = protected(frame, asked_of(2, **method), asked)
    cells = frame["codes"].to_list()
    coded = [place for place, cell in enumerate(cells) if cell]
    order = data.draw(st.permutations(coded))
    other = [*cells]
    for place, taken in zip(coded, order, strict=True):
        other[place] = cells[taken]
    if data.draw(st.booleans()):
        other[data.draw(st.sampled_from(coded))] = data.draw(st.sampled_from(["a", "f", "a f", "b c"]))
    changed = frame.with_columns(codes=pl.Series(other))
    shown = release.frame.select("age", "sex", "ward", "codes").cast(pl.String).rows()
    records = [row for row in shown if row[3] not in (None, "*")]
    may_suppress = release.summary()["codes"]["method"] == "generalization" or (
        asked.policy is not None and asked.method != "apriori"
    )
    original = [(*row[:3], row[3].split()) for row in changed.select("age", "sex", "ward", "codes").rows() if row[3]]
    with TemporaryDirectory() as folder:
        release.write(f"{folder}/release")

        assert verify_folder(f"{folder}/release", original=frame).holds
        expected = oracle.may_come_from(records, original, may_suppress)
        with nullcontext() if expected else pytest.raises(GuaranteeViolation, match="each "):
            verify_folder(f"{folder}/release", original=changed)
