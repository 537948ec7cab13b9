"""The verifier of claims: its own simulation against all samples, its powers, and the order that it asks for."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.made.claims_data import encoded
from tests.made.claims_files import write_files

import cloister as cl
from cloister.shapes.claims.format.manifest import KNOWLEDGE, ClaimsManifest, ClaimsPromise, SimulatedFigures
from cloister.shapes.claims.format.plan import AdversaryPlan
from cloister.shapes.claims.method.adversary_draws import AdversaryPower
from cloister.shapes.claims.method.release import FileRows, released_order
from cloister.shapes.claims.method.risk import wilson
from cloister.shapes.claims.verify.original import ID, KEY, RELEASED_ID, Pseudonyms
from cloister.shapes.claims.verify.risk import enough_draws, is_plausible, overlap, powers
from cloister.shapes.claims.verify.simulation import (
    SURE,
    ColumnHolders,
    History,
    Simulated,
    Simulation,
    ones,
    share_error,
)
from cloister.shapes.claims.verify.verify import verify

AMI, STROKE = "AMI", "STROKE"
HISTORIES = [["AMI", "AMI", "UTI"], ["AMI", "UTI"], ["AMI", "AMI"], ["UTI", "UTI", "UTI"], ["AMI", None]]


def history(lists):
    """One column of claims of each patient."""
    owners = np.repeat(np.arange(len(lists)), [len(own) for own in lists])
    return History(owners, [pl.Series("dx", [text for own in lists for text in own], dtype=pl.String)])


def exact(known, shown, power, cells, k):
    """Mean risk and flag rate over all patients and all samples, by the definition."""
    risks, flags = [], []
    for patient, own in enumerate(known):
        values = [text for text in own if text is not None]
        samples = list(itertools.combinations(values, power[patient]))
        for sample in samples:
            fits = [
                other
                for other, there in enumerate(shown)
                if cells[other] == cells[patient] and all(there.count(text) >= sample.count(text) for text in sample)
            ]
            size = len(fits) if patient in fits else 0
            risks.append((1 / size if size else 0) / len(samples) / len(known))
            flags.append((0 < size < k) / len(samples) / len(known))
    return sum(risks), sum(flags)


@pytest.mark.parametrize("shown", [HISTORIES, [["AMI"], ["AMI", "UTI"], ["AMI", "AMI"], ["UTI", None], ["AMI", None]]])
@pytest.mark.parametrize("cells", [[0, 0, 0, 0, 0], [0, 0, 1, 1, 0]])
def test_the_simulation_finds_what_all_samples_tell(shown, cells):
    """Within four standard errors, with values left out and in two cells: multisets, misses and flags."""
    power = np.array([[2], [1], [2], [2], [1]])
    attacked = Simulation(np.array(cells), history(HISTORIES), history(shown), 3)
    found = attacked.run(power, 20_000, (1,)).exact
    mean, flags = exact(HISTORIES, shown, power[:, 0], cells, 3)

    assert abs(mean - found.mean) <= SURE * found.error
    assert abs(flags - found.flag_rate) <= SURE * found.flag_error


def test_the_simulation_counts_those_of_whom_something_may_be_missing():
    """One value of each patient is hidden and told so: who lacks no more than is told stays a candidate."""
    shown = [["AMI", "AMI"], ["AMI", "UTI"], ["AMI"], ["UTI", "UTI", "UTI"], ["AMI", None]]
    room = np.array([[1], [0], [1], [0], [0]])
    power = np.array([[2], [2], [2], [2], [1]])
    attacked = Simulation(np.zeros(5, dtype=np.int64), history(HISTORIES), history(shown), 3, room)
    found = attacked.run(power, 20_000, (1,)).flag_aware
    risks = []
    for patient, own in enumerate(HISTORIES):
        samples = list(itertools.combinations([text for text in own if text], power[patient, 0]))
        for sample in samples:
            short = [sum(max(0, sample.count(t) - there.count(t)) for t in set(sample)) for there in shown]
            fits = sum(lack <= spare for lack, spare in zip(short, room[:, 0], strict=True))
            risks.append(1 / fits / len(samples) / len(HISTORIES))

    assert abs(sum(risks) - found.mean) <= SURE * found.error


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=6), min_size=2, max_size=12),
    st.integers(1, 6),
    st.sampled_from(["ceil", "floor", "round"]),
)
def test_the_power_is_worked_out_alike(lists, most, rounding):
    """The verifier's power is that of step 8, from other code."""
    (mine,) = powers(history(lists), len(lists), [most], rounding)
    plan = AdversaryPlan(power=most, rounding=rounding)
    theirs = AdversaryPower(encoded([[(text,) for text in own] for own in lists]), plan)

    assert theirs.at().tolist() == mine.tolist()


@given(st.data())
def test_the_released_order_does_not_depend_on_that_of_the_input(data):
    """Patients, claims and ids in any order: the released rows, ids numbered by appearance, are the same."""
    n = data.draw(st.integers(1, 5))
    sexes = data.draw(st.lists(st.sampled_from(["F", "M", None]), min_size=n, max_size=n))
    claim = st.tuples(st.integers(0, n - 1), st.sampled_from(["x", "y", None]), st.sampled_from(["d1", "d2", "d3"]))
    claims = data.draw(st.lists(claim, max_size=7))
    place = data.draw(st.permutations(range(n)))
    hashes = data.draw(st.one_of(st.none(), st.permutations([f"{number:02x}" for number in range(n)])))
    moved = data.draw(st.permutations([(place[owner], code, doctor) for owner, code, doctor in claims]))
    moved_sexes, moved_hashes = (
        [own for _, own in sorted(zip(place, column or [None] * n, strict=True), key=lambda pair: pair[0])]
        for column in (sexes, hashes)
    )

    assert laid_out(sexes, claims, hashes) == laid_out(moved_sexes, moved, moved_hashes if hashes else None)


def laid_out(sexes, claims, hashes):
    """The rows in released order, with keyed ids if there are any, and numbers for patients and doctors."""
    owners = np.array([owner for owner, _, _ in claims], dtype=np.int64)
    doctors = pl.Series("doctor", [doctor for _, _, doctor in claims], dtype=pl.String)
    codes = pl.DataFrame({"code": pl.Series([code for _, code, _ in claims], dtype=pl.String)})
    people = FileRows(pl.DataFrame({"sex": pl.Series(sexes, dtype=pl.String)}), {})
    keyed = None if hashes is None else pl.Series(hashes)
    order, rows = released_order(people, FileRows(codes, {"doctor": ("provider", doctors)}), owners, keyed)
    number = {patient: place for place, patient in enumerate(order.tolist())}
    met = {}
    released = [(number[claims[row][0]], claims[row][1], met.setdefault(claims[row][2], len(met))) for row in rows]
    return [(sexes[patient], hashes and hashes[patient]) for patient in order], released


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A release of made-up claims, from Python."""
    folder = tmp_path_factory.mktemp("claims")
    write_files(folder)
    plan = cl.ClaimsPlan.read(folder / "plan.toml")
    return cl.protect_claims(cl.Claims.read(folder / "patients.csv", folder / "claims.csv", plan))


def test_from_python(release, tmp_path):
    """The verb gives a release that verifies, with what stands in its files; nothing in its repr is a value."""
    assert release.verify().holds
    assert release.patients.height == release.summary()["records"]["released"]
    assert set(release.claims["mrn"]) <= set(release.patients["mrn"])
    assert "F" not in repr(release.files)
    assert release.write(tmp_path / "release")["shape"] == "claims"
    with pytest.raises(cl.InputError, match="what cl"):
        cl.protect_claims("patients.csv")


def test_a_column_that_lost_all_its_information_is_empty(release):
    """Whether it is at the top of its hierarchy, or below and nearly all of its labels were suppressed."""
    stated = release.summary() | {"files": {}}
    columns = [
        (table, name)
        for table in ("patients", "claims")
        for name, column in stated["columns"][table].items()
        if column["role"] == "quasi-identifier" and column["top"] > 0 and column["level"] < column["top"]
    ]
    assert columns
    for table, name in columns:
        assert name not in ClaimsManifest.of(stated).empty
        kept = stated["utility"]["kept"]
        lost = {**kept, table: {**kept[table], name: 0.0}}
        assert name in ClaimsManifest.of(stated | {"utility": stated["utility"] | {"kept": lost}}).empty


def refusals(release, *, threshold=None, **figures):
    """What the verifier says of a release that promises another threshold, or says other figures."""
    promise = ClaimsPromise.of(ClaimsManifest.of(release.summary() | {"files": {}}))
    plan, risk = promise.plan, promise.risk.model_copy(update=figures)
    if threshold is not None:
        plan = replace(plan, risk=replace(plan.risk, threshold=threshold))
    return "; ".join(verify(release.files, replace(promise, plan=plan, risk=risk)).failures)


def test_a_label_of_one_patient_too_few_is_refused(release):
    """The rarest label is that of exactly so many patients as may be promised, and of no more."""
    form = ClaimsPromise.of(ClaimsManifest.of(release.summary() | {"files": {}})).form
    held = [
        frame.select("mrn", name).unique().drop_nulls()[name].value_counts()["count"].min()
        for table, frame in (("patients", release.patients), ("claims", release.claims))
        for name in form.names(table, "quasi-identifier")
    ]
    own = min(count for count in held if count is not None)
    said = "each label of a quasi-identifier is that of"

    assert said in refusals(release, threshold=1 / (own + 1))


def test_each_figure_is_held_against_the_threshold(release):
    """One interval above it is enough, whatever the others are."""
    said = "mean risk and flag rate as stated are at most"

    assert said not in refusals(release)
    assert said in refusals(release, flag_interval=(0.0, 1.0))
    assert said in refusals(release, interval=(0.0, 1.0))


def test_who_believes_flags_only_where_nobody_fits():
    """Somebody else who fits exactly misleads him; where nobody does, he is the flag-aware one."""
    shown = [["AMI", "AMI"], ["AMI", "UTI"], ["AMI"], ["UTI", "UTI", "UTI"], ["AMI", None]]
    room = np.array([[1], [0], [1], [0], [0]])
    power = np.array([[2], [2], [2], [2], [1]])
    attacked = Simulation(np.zeros(5, dtype=np.int64), history(HISTORIES), history(shown), 3, room)
    risks = []
    for patient, own in enumerate(HISTORIES):
        samples = list(itertools.combinations([text for text in own if text], power[patient, 0]))
        for sample in samples:
            short = [sum(max(0, sample.count(t) - there.count(t)) for t in set(sample)) for there in shown]
            exact = [lack == 0 for lack in short]
            fits = [lack <= spare for lack, spare in zip(short, room[:, 0], strict=True)]
            one = (exact[patient] / sum(exact)) if any(exact) else 1 / sum(fits)
            risks.append(one / len(samples) / len(HISTORIES))
    found = attacked.run(power, 20_000, (1,)).fallback

    assert abs(sum(risks) - found.mean) <= SURE * found.error


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_who_has_what_is_counted_in_any_number_of_patients(n):
    """Bits at the ends of words and cells, of values that many and that few have, against sets."""
    draw = np.random.default_rng(n)
    owners, values = draw.integers(0, n, 3 * n), draw.integers(-1, 6, 3 * n) ** 3
    holders = ColumnHolders(owners, np.maximum(values, -1), n)
    begin, end = sorted(draw.choice(n + 1, 2, replace=False).tolist())
    for value in range(8):
        for times in (1, 2):
            found = ones((begin, end))
            holders.keep(found, value, times)
            there = [p for p in range(begin, end) if ((owners == p) & (values == value)).sum() >= times]
            assert (len(there), [found.holds(p) for p in there]) == (found.count(), [True] * len(there))


def stated(share, draws):
    """Figures as a release states them."""
    low, high = wilson(round(share * draws), draws).low, wilson(round(share * draws), draws).high
    half = 1.96 * 0.03 / draws**0.5
    interval, around = (0.02 - half, 0.02 + half), (low, high)
    return SimulatedFigures(
        mean=0.02, interval=interval, flag_rate=share, flag_interval=around, missed=0.0, draws=draws
    )


@pytest.mark.parametrize("threshold", [0.02, 0.05, 0.1, 0.3])
def test_a_share_a_fifth_above_the_threshold_is_seen(threshold):
    """By the draws that there are; one at the threshold passes, and a wide stated interval helps nobody."""
    draws = enough_draws(threshold)
    sizes = np.full(draws, 1_000)
    sizes[: round(1.2 * threshold * draws)] = 1
    found = Simulated.of(sizes, 20)
    wide = stated(0.9 * threshold, 10**6).model_copy(update={"flag_interval": (0.0, 1.0)})
    at = replace(found, flag_rate=threshold)

    assert found.flag_rate - SURE * found.flag_error > threshold * 0.97
    assert share_error(found.flag_rate, draws) * 2 * SURE < 0.25 * threshold
    assert at.flag_rate - SURE * at.flag_error <= threshold
    assert not overlap(found, wide)
    assert not is_plausible(wide, 20)


def stand_for_ids(numbers, ids, keys):
    """Whether numbers of released rows can stand for ids of the original's, which have another order."""
    own = pl.DataFrame({KEY: keys, RELEASED_ID: numbers}, schema={KEY: pl.UInt32, RELEASED_ID: pl.String})
    group = Pseudonyms()
    group.add(own, pl.DataFrame({KEY: keys, ID: ids}, schema={KEY: pl.UInt32, ID: pl.String})[::-1])
    return group.holds()


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", None])), min_size=1, max_size=12))
def test_numbers_that_stand_for_ids_pass(rows):
    """One number for each id passes, whatever the rows; one id under two numbers, both of which are seen, does not."""
    keys, ids = [key for key, _ in rows], [name for _, name in rows]
    met = {name: str(place) for place, name in enumerate(dict.fromkeys(ids)) if name}
    numbers = [met.get(name) for name in ids]
    alone = [place for place, key in enumerate(keys) if keys.count(key) == 1 and ids[place]]
    again = [place for place in alone if any(ids[place] == ids[other] for other in alone if other < place)]

    assert stand_for_ids(numbers, ids, keys)
    for place in again:
        assert not stand_for_ids([*numbers[:place], "9", *numbers[place + 1 :]], ids, keys)


def test_adversaries_know_what_their_names_say():
    """Protector and verifier read one table, so that a weaker adversary in it would be confirmed by both."""
    up_to = "power up to "
    values = {"patients alone": 0, "one value of each column": 1, "five values of each column": 5, "all values": 10**9}
    for name, knows in KNOWLEDGE.items():
        assert knows.highest == (int(name.removeprefix(up_to)) if name.startswith(up_to) else None)
        assert knows.values == values.get(name)
        assert (knows.has_patients, knows.is_whole) == (name != "claims alone", name.startswith("whole claims"))
    assert len(KNOWLEDGE) == 11
