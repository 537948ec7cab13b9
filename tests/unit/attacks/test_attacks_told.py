"""What stands of an attack in a release, and what leads from one release to another."""

import polars as pl
import pytest

import cloister as cl
from cloister.attacks.adversary import Attack, Inference, Level, Matches, found_among, level_of
from cloister.attacks.attack_parts import Intersection, OpenedPart, attack_parts
from cloister.errors import InputError
from cloister.verification.driver import Request

K = 4
AGES = [20 + number % 40 for number in range(80)]
PEOPLE = pl.DataFrame({"id": [f"p{number}" for number in range(80)], "age": AGES, "sex": ["F", "M"] * 40})
AGE, SEX = {"age": cl.intervals(10, 20)}, {"sex": cl.suppress()}


def sights(counts):
    """Matches that are there, everywhere the own record among them."""
    column = pl.Series(counts, dtype=pl.Int64).to_numpy()
    return Matches(column, column, (column > 0).astype("int64"))


def attack_with(*levels, inferences=()):
    """An attack with these matches at each level."""
    found = tuple(
        level_of(f"{n} codes", sights(m), sights(m), [True] * len(m), K, None) for n, m in enumerate(levels, 2)
    )
    return Attack("codes", "cba", K, 0, 10, 1000, 100, True, found, tuple(inferences))


def test_a_release_says_that_it_was_attacked_and_no_more():
    """Whatever was found, the section is the same: every figure of an attack is a function of the original."""
    few = attack_with([0, 0] + [8] * 8, inferences=[Inference("dx", 10, 0.6, 0.4, 0.0)])
    many = attack_with([0] * 4 + [8] * 6, [9] * 10)

    assert few.as_manifest() == many.as_manifest() == {"targets": 1000, "holds": True}


def test_a_target_with_too_few_matches_breaks_the_guarantee():
    """One covered target with fewer than k matches is enough; one who is not covered is none."""
    seen = sights([9, 3, 0])
    broken = level_of("1 code", seen, seen, [True, True, True], K, None)
    outside = level_of("1 code", seen, seen, [True, False, True], K, None)

    assert (broken.broken, outside.broken) == (1, 0)
    assert isinstance(broken, Level)
    assert found_among(seen, K).fewer == 1


def release_of(columns, k=K, **options):
    """A release of the people by some columns."""
    frame = PEOPLE.with_columns(ward=pl.Series([str(number) for number in range(80)])) if options else PEOPLE
    kept = frame.select("id", *columns, *([] if not options else ["ward"]))
    return cl.protect_table(kept, qi=columns, rule=[cl.KAnonymity(k)], id="id", **options), kept


def test_parts_with_nothing_in_common_are_not_linkable():
    """Two tables of the same patients that record nothing alike leave k candidates in each."""
    parts = [OpenedPart(name, *release_of(columns)) for name, columns in (("ages", AGE), ("sexes", SEX))]
    found = attack_parts(parts)
    (link,) = found.links

    assert found.holds
    assert (link.columns, link.fewer, link.joined, link.targets) == ((), 0, 0, 80)
    assert link.least >= K
    assert found.summary()["parts"].keys() == {"ages", "sexes"}


def test_parts_that_record_the_same_value_are_linkable():
    """A value that both parts release as recorded, other for every patient, joins their records one by one."""
    parts = [OpenedPart(name, *release_of(columns, keep=["ward"])) for name, columns in (("ages", AGE), ("sexes", SEX))]
    found = attack_parts(parts)
    (link,) = found.links

    assert not found.holds
    assert link.columns == (("ward", "ward"),)
    assert link.joined == 160
    assert all(part.holds for _, part in found.parts)


def test_a_column_that_never_agrees_hides_no_link():
    """A second column that each part writes in its own way leaves the first to join the records."""
    parts = []
    for name, columns, region in (("ages", AGE, "north"), ("sexes", SEX, "NORTH")):
        frame = PEOPLE.select("id", *columns).with_columns(
            ward=pl.Series([f"{number}" for number in range(80)]),
            region=pl.Series([region if number else "south" for number in range(80)]),
        )
        kept = {"keep": ["ward", "region"], "id": "id"}
        release = cl.protect_table(frame, qi=columns, rule=[cl.KAnonymity(K)], **kept)
        parts.append(OpenedPart(name, release, frame))
    (link,) = attack_parts(parts).links

    assert link.columns == (("region", "region"), ("ward", "ward"))
    assert link.joined == 160


def test_values_that_occur_in_both_releases_are_counted():
    """Of two releases of two classes each, the values left of a patient are those that both classes have."""
    frame = pl.DataFrame({"id": range(4), "age": ["30", "30", "50", "50"], "sex": [*"FMFM"], "dx": [*"xyzx"]})
    parts = []
    for column in ("age", "sex"):
        kept = frame.select("id", column, "dx")
        release = cl.protect_table(kept, qi=[column], k=2, id="id", sensitive=["dx"])
        parts.append(OpenedPart(column, release, kept))
    (link,) = attack_parts(parts).links

    # 30 has x and y, 50 has z and x; F has x and z, M has y and x: only 30 F and 50 M have x alone in both
    assert link.intersections == (Intersection("dx", "dx", 4, 2.0, 2.0, 1.5, 2),)
    assert attack_parts(parts).summary()["links"][0]["intersections"][0]["one_left"] == 2


def test_rows_are_patients_only_where_all_parts_are_tables_of_one_file(tmp_path):
    """Two tables of one file need no ids; beside trajectories of it a row number would be taken for another id."""
    file = str(tmp_path / "visits.csv")
    rows = pl.DataFrame({"id": [*range(40, 0, -1)], "code": ["401.9"] * 40, "age": [40, 41] * 20})
    rows.write_csv(file)
    table = cl.protect_table(rows.drop("id"), qi={"age": cl.suppress()}, k=K, drop=["code"])
    other = cl.protect_trajectories(cl.Trajectories.read(file), k=K)

    assert len(attack_parts([OpenedPart("one", table, file), OpenedPart("two", table, file)]).links) == 1
    found = attack_parts([OpenedPart("one", table, file), OpenedPart("two", other, file)])
    assert (found.links, found.not_compared) == ((), (("one", "two"),))


def test_parts_with_the_same_numbers_are_linkable():
    """Records numbered alike in two parts are found out where crosswalks say whose they are."""
    release, kept = release_of(AGE)
    found = attack_parts([OpenedPart("one", release, kept, Request()), OpenedPart("two", release, kept, Request())])

    assert found.links[0].same_numbers == 1.0
    assert not found.holds
    with pytest.raises(InputError, match="same name"):
        attack_parts([OpenedPart("one", release, kept), OpenedPart("one", release, kept)])


def test_parts_without_records_are_not_compared():
    """Chunks have no records that could be joined; that is said."""
    codes = cl.CodeSets.from_records([["001", "002"]] * 40 + [["001"]] * 40, ids=PEOPLE["id"])
    release, kept = release_of(AGE)
    found = attack_parts([OpenedPart("ages", release, kept), OpenedPart("codes", cl.protect_codes(codes, k=K), codes)])

    assert found.not_compared == (("ages", "codes"),)
    assert found.holds
