"""A release of every method under attack: whoever is covered matches nobody or k; in raw data many match one."""

import json
import random
from collections import Counter

import polars as pl
import pytest
from tests.oracles.attacks import candidates, records_with, rows_like, sequences_with, singled_out

import cloister as cl
from cloister.attacks.adversary import UNKNOWN, order_of
from cloister.attacks.attack_parts import open_release
from cloister.verification.driver import Request

K, N = 3, 60
DRAW = random.Random(7)
PEOPLE = pl.DataFrame(
    {
        "id": [f"p{number}" for number in range(N)],
        "age": [DRAW.randint(20, 59) for _ in range(N)],
        "sex": [DRAW.choice("FM") for _ in range(N)],
        "zip": [DRAW.choice(["02134", "02139", "02210", None]) for _ in range(N)],
        "dx": [DRAW.choice(["a", "b", None]) for _ in range(N)],
    }
)
COLUMNS = {"age": cl.intervals(5, 10, 20), "sex": cl.suppress(), "zip": cl.prefix(5)}
CODES = ["250.00", "250.01", "401.1", "401.9", "272.4"]
SETS = [DRAW.sample(CODES, DRAW.randint(1, 4)) for _ in range(N)]
CODE_SETS = cl.CodeSets.from_records(SETS, ids=PEOPLE["id"])
PAIRS = [[(DRAW.choice(CODES[:4]), str(DRAW.randint(40, 44))) for _ in range(DRAW.randint(1, 3))] for _ in range(40)]
TIMELINES = cl.Trajectories.from_records(PAIRS, ids=[f"p{number}" for number in range(40)])

TABLES = {
    "full-domain": {},
    "suppressed rows kept": {"suppression": 0.5, "keep_suppressed": True},
    "mondrian": {"method": "mondrian"},
    "cluster": {"method": "cluster"},
    "local recoding": {"local_recoding": True, "suppression": 0.3},
    "microaggregation": {"microaggregate": {"age": "mean"}, "suppression": 0.3},
}


def anonymized(**options):
    """A release of the people."""
    options = {"suppression": 0.1, "qi": COLUMNS} | options
    return cl.protect_table(PEOPLE, rule=[cl.KAnonymity(K)], id="id", sensitive=["dx"], **options)


def assert_stands(found):
    """The guarantee holds at every level, and some adversary finds patients alone in the raw data."""
    assert found.holds
    assert [level.broken for level in found.levels] == [0] * len(found.levels)
    assert found.levels[-1].original.alone > 0
    assert found.levels[-1].original.none == 0
    assert all(level.released.least in (0, *range(K, N + 1)) for level in found.levels if level.is_covered)


@pytest.mark.parametrize("method", TABLES)
def test_tables_of_every_method_stand_an_attack(method):
    """Matches are those that the labels allow, and the own record is among them where it is released."""
    release = anonymized(**TABLES[method])
    opened = open_release(release, PEOPLE, Request())
    (adversary,) = opened.adversaries
    shown = [row for row in release.frame.cast(pl.String).rows(named=True) if row["sex"] != "*" or row["dx"] != "*"]
    known_by = [dict(row) for row in PEOPLE.select(*COLUMNS).cast(pl.String).rows(named=True)]
    columns = list(COLUMNS)
    exact = [0, 1, 2] if method != "microaggregation" else [1, 2]
    for target, values in enumerate(known_by):
        for known in ([exact[0]], exact[-2:], exact):
            seen = adversary.released.match(target, known)
            like = rows_like(shown, {columns[place]: values[columns[place]] for place in known})
            assert len(like) == seen.matches
            assert seen.own != UNKNOWN
    found = cl.attack(release, PEOPLE)

    assert_stands(found)
    assert found.is_known_who
    assert found.levels[-1].covered == N
    assert found.levels[-1].released.rate <= 1 / K
    assert [each.column for each in found.inferences] == ["dx"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("recorded", [["dx"], []])
@pytest.mark.parametrize("method", TABLES)
def test_predicates_over_all_columns_single_out_patients(method, recorded):
    """Those of labels alone match k patients or more; with a recorded column, many match one."""
    people = PEOPLE.select("id", *COLUMNS, *recorded)
    options = {"suppression": 0.1, "qi": COLUMNS} | TABLES[method]
    release = cl.protect_table(people, rule=[cl.KAnonymity(K)], id="id", sensitive=recorded, **options)
    shown = release.frame.drop("id").cast(pl.String).rows(named=True)
    rows = [row for row in shown if set(row.values()) != {"*"}]
    expected = singled_out(rows, people.cast(pl.String).rows(named=True), recorded, options.get("microaggregate", ()))
    found = cl.attack(release, people)

    assert found.predicates is not None
    assert (found.predicates.predicates, found.predicates.isolating) == expected
    assert found.criteria.predicate_singling_out == expected[1] / expected[0]
    assert found.criteria.singling_out == 0
    assert (expected[1] > 0) == bool(recorded)
    sampled = cl.attack(release, people, targets=5).predicates
    assert (sampled.tested, sampled.predicates) == (5, expected[0])


def test_who_knows_a_category_takes_the_modes_that_are_it():
    """Of modes those equal to a known value count, or all where none is; classes without a mode match anybody."""
    release = anonymized(method="mdav")
    assert_stands(cl.attack(release, PEOPLE))
    (adversary,) = open_release(release, PEOPLE, Request()).adversaries
    modes = release.frame["zip"].to_list()
    for target, value in enumerate(PEOPLE["zip"]):
        equal = sum(mode == value for mode in modes)
        expected = equal + (modes.count(None) if value is not None else 0)
        assert adversary.released.match(target, [2]).matches == (expected if equal else len(modes))


def test_who_knows_a_number_takes_the_nearest_average():
    """Of averages those nearest to a known number count, whole classes of them."""
    release = anonymized(**TABLES["microaggregation"])
    (adversary,) = open_release(release, PEOPLE, Request()).adversaries
    ages = [float(age) for age in release.frame["age"].cast(pl.String)]
    for target, age in enumerate(PEOPLE["age"]):
        nearest = min(abs(each - age) for each in ages)

        expected = sum(abs(each - age) <= nearest + 1e-9 for each in ages)
        assert adversary.released.match(target, [0]).matches == expected


@pytest.mark.parametrize("method", ["cba", "ugaclip", "apriori"])
def test_generalized_code_sets_stand_an_attack(method):
    """Matches are the records with a term for each known code; more codes than promised may find somebody."""
    sets = [*SETS[:-2], ["585.3", "401.9"], ["V58.67"]]
    codes = cl.CodeSets.from_records(sets, ids=PEOPLE["id"])
    release = cl.protect_codes(codes, k=K, method=method, accept_empty=True)
    (adversary,) = open_release(release, codes, Request()).adversaries
    cells = [cell or "" for cell in release.frame["codes"]]
    for target, own in enumerate(sets):
        for known in ([0], list(range(len(own)))):
            named = [sorted(own)[item] for item in known]
            assert len(records_with(cells, named)) == adversary.released.match(target, known).matches
    found = cl.attack(release, codes)

    assert_stands(found)
    assert [level.known for level in found.levels if level.is_covered] == ["1 code", "2 codes"]


def test_a_further_code_is_guessed_from_the_records_that_fit_the_others():
    """The last code of each patient is hidden; the guess is what is right most often among the matches."""
    release = cl.protect_codes(CODE_SETS, k=K, method="cba")
    cells = [cell or "" for cell in release.frame["codes"]]
    right = blind = n = 0
    for target, own in enumerate(SETS):
        *known, hidden = [sorted(own)[item] for item in order_of(len(own), 0, target)]
        if known and records_with(cells, known):
            n += 1
            right += guessed([set(map(frozenset, record)) for record in records_with(cells, known)], known, hidden)
            blind += guessed([set(map(frozenset, record)) for record in records_with(cells, [])], known, hidden)
    (found,) = cl.attack(release, CODE_SETS).inferences

    assert (found.column, found.targets) == ("a further code", n)
    assert (right / n, blind / n) == pytest.approx((found.accuracy, found.baseline))


def guessed(records, known, hidden):
    """The chance that the term worth most, of those without a known code, is right about the hidden code."""
    counts = Counter(term for record in records for term in record if not term & set(known))
    best = max(counts, key=lambda term: (counts[term] / len(term), [-ord(c) for c in min(term)]), default=frozenset())
    return 1 / len(best) if hidden in best else 0


def test_privacy_policies_say_what_is_covered():
    """A policy of whole records covers all that may be known; another what is in one of its sets, if it is given."""
    release = cl.protect_codes(CODE_SETS, k=K, privacy=cl.PrivacyPolicy.records(CODE_SETS), method="cba")
    found = cl.attack(release, CODE_SETS)
    assert_stands(found)
    assert all(level.is_covered for level in found.levels)

    policy = cl.PrivacyPolicy.of([CODES[:2], CODES[2:4]])
    release = cl.protect_codes(CODE_SETS, k=K, privacy=policy, method="cba")
    sets = [set(codes) for codes in SETS]
    unknown, given = cl.attack(release, CODE_SETS), cl.attack(release, CODE_SETS, privacy=policy)

    assert {level.covered for level in unknown.levels} == {0}
    assert given.holds
    expected = sum(codes <= set(CODES[:2]) or codes <= set(CODES[2:4]) for codes in sets)
    assert next(level.covered for level in given.levels if level.known == "all codes") == expected


def test_chunks_stand_an_attack(tmp_path):
    """Candidates are the subrecords of a chunk that hold what is known, in every cluster that may be the patient's."""
    for number, options in enumerate(({}, {"refine": "off"}, {"sensitive": ["272.4"], "max_cluster_size": 12})):
        release = cl.protect_codes(CODE_SETS, k=K, m=2, **options)
        (adversary,) = open_release(release, CODE_SETS, Request()).adversaries
        release.write(tmp_path / str(number))
        clusters = json.loads((tmp_path / str(number) / "clusters.json").read_text())
        for target, own in enumerate(SETS):
            for known in ([0], list(range(len(own)))[:2], list(range(len(own)))):
                expected = candidates(clusters, [sorted(own)[item] for item in known])
                seen = adversary.released.match(target, known)
                assert (sum(expected), min(filter(None, expected), default=0)) == (seen.matches, seen.least)
        found = cl.attack(release, CODE_SETS)

        assert_stands(found)
        assert {level.released.false_matches for level in found.levels} == {0.0}


@pytest.mark.parametrize("method", ["a-gs", "baseline"])
def test_trajectories_stand_an_attack(method):
    """Matches are the sequences in which known pairs may stand one after another; of codes alone, at any place."""
    release = cl.protect_trajectories(TIMELINES, k=K, method=method, code_hierarchy=cl.icd9())
    by_codes, by_pairs = open_release(release, TIMELINES, Request()).adversaries
    rows = release.frame.group_by("id", maintain_order=True).agg("code", "age")
    sequences = [list(zip(codes, ages, strict=True)) for _, codes, ages in rows.rows()]
    hierarchy = cl.icd9().bind("code", CODES[:4])
    under = {label: set() for labels in hierarchy.labels for label in labels}
    for labels in hierarchy.labels:
        for code, label in zip(hierarchy.values, labels, strict=True):
            under[label].add(code)
    for target, own in enumerate(PAIRS):
        ordered = sorted(own, key=lambda pair: (int(pair[1]), pair[0]))
        for known in ([0], [len(own) - 1], list(range(len(own)))):
            like = sequences_with(sequences, [ordered[item] for item in known], under)
            assert len(like) == by_pairs.released.match(target, known).matches
        codes = {code for code, _ in own}
        having = [each for each in sequences if all(any(code in under[label] for label, _ in each) for code in codes)]
        assert len(having) == by_codes.released.match(target, range(len(codes))).matches

    assert_stands(cl.attack(release, TIMELINES))


def test_a_table_with_codes_stands_an_attack():
    """Quasi-identifiers alone, and all of them with codes beside, lead to nobody or to k candidates."""
    frame = PEOPLE.with_columns(pl.Series("codes", [" ".join(codes) for codes in SETS]))
    release = cl.protect_table(
        frame, qi=COLUMNS, rule=[cl.KAnonymity(K)], id="id", sensitive=["dx"], codes="codes", m=2, suppression=0.5
    )
    by_labels = open_release(release, frame, Request()).adversaries[0]
    shown = release.frame.cast(pl.String).rows(named=True)
    for target, values in enumerate(frame.select(*COLUMNS).cast(pl.String).rows(named=True)):
        for known in ([0], [1, 2], [0, 1, 2]):
            like = rows_like(shown, {name: values[name] for place, name in enumerate(COLUMNS) if place in known})
            assert len(like) == by_labels.released.match(target, known).matches
    found = cl.attack(release, frame)

    assert_stands(found)
    assert [level.known for level in found.levels if level.is_covered][-1] == "all quasi-identifiers and 2 codes"


def test_the_method_reveals_what_is_below_a_label_of_two(tmp_path):
    """A class of two with sexes suppressed is a woman and a man; one transformation for all reveals nothing so."""
    frame = pl.DataFrame({"age": [31, 31, 52, 52, 52, 52], "sex": ["F", "M", "F", "F", "M", "M"]})
    for method, expected in (("cluster", (1, 1, 2, 1.0)), ("full-domain", None)):
        release = cl.protect_table(frame, k=2, qi={"age": "interval:10", "sex": "suppress"}, method=method)
        release.write(tmp_path / method)
        found = cl.attack(tmp_path / method, frame).refinement

        assert (found and (found.labels, found.determined, found.records, found.bits)) == expected


@pytest.mark.parametrize("method", ["cba", "generalization"])
def test_a_table_with_terms_stands_an_attack(method):
    """All quasi-identifiers and codes lead to the records of the classes that fit, with a term for each known code."""
    frame = PEOPLE.with_columns(pl.Series("codes", [" ".join(codes) for codes in SETS]))
    release = cl.protect_table(
        frame, qi=COLUMNS, rule=[cl.KAnonymity(K)], id="id", sensitive=["dx"], codes="codes", m=2, suppression=0.5,
        codes_method=method,
    )  # fmt: skip
    by_codes = open_release(release, frame, Request()).adversaries[1]
    shown = release.frame.cast(pl.String)
    for target, values in enumerate(frame.select(*COLUMNS).cast(pl.String).rows(named=True)):
        own = sorted(SETS[target])
        for known in ([0], list(range(len(own)))[:2], list(range(len(own)))):
            codes = [own[item] for item in known]
            classes = [cells.drop_nulls("codes") for _, cells in shown.group_by(*COLUMNS)]
            fitting = [
                cells["codes"] for cells in classes if cells.height and rows_like(cells.rows(named=True), values)
            ]
            expected = sum(len(records_with([cell.strip("()") and cell for cell in cells], codes)) for cells in fitting)
            assert by_codes.released.match(target, known).matches == expected
    found = cl.attack(release, frame)

    assert_stands(found)
    assert [level.known for level in found.levels if level.is_covered][-1] == "all quasi-identifiers and 2 codes"
