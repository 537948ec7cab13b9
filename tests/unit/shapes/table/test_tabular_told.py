"""What a release tells of itself: figures in their range, nothing of how the values of a class are spread."""

import polars as pl
import pytest
from hypothesis import given
from tests.made.examples import examples
from tests.made.ruled_tables import ruled_cases

import cloister as cl
from cloister.errors import InputError
from cloister.utility import LOSSES

AGES = {"age": cl.intervals(5, 10, 20, bottom=0, top=90)}


def told(ages, **options):
    """What is said of a release of these ages, and its records."""
    frame = pl.DataFrame({"age": ages})
    wanted = {"qi": AGES, "rule": [cl.KAnonymity(5)], "suppression": 0}
    release = cl.protect_table(frame, **wanted | options)
    said = release.summary()
    return release.data.rows(), {key: said[key] for key in ("utility", "risk", "search", "records", "columns")}


@examples(80)
@given(ruled=ruled_cases(losses=LOSSES))
def test_losses_and_bounds_are_shares(ruled):
    """No loss leaves [0, 1] by rounding, and no bound is above its loss."""
    problem = ruled.problem()
    for levels in problem.transformations():
        candidate = problem.measure(levels)

        assert 0.0 <= candidate.bound <= candidate.loss + 1e-15
        assert candidate.loss <= 1.0 + 1e-15


@pytest.mark.sampled(9)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("values", "level"), [("09721513", 1), ("243700243700", 0), ("aabbccddee", 0)])
def test_written_releases_hold_under_every_loss(tmp_path, loss, values, level):
    """A release at the ends of its hierarchy is one that verification takes, whatever its loss."""
    release = cl.protect_table(
        pl.DataFrame({"q": list(values)}),
        qi={"q": "suppress"},
        rule=["k-anonymity=2"],
        loss=loss,
        levels={"q": level},
        suppression=0.5,
    )
    release.write(tmp_path / "release")

    assert cl.verify_folder(tmp_path / "release").holds


@pytest.mark.sampled(6)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("search", ["optimal", "bfs"])
def test_losses_do_not_tell_how_a_class_is_spread(loss, search):
    """Two tables with the same release have the same figures: of one class all are 40, or they are 40 to 44."""
    same, spread = ([*first, *range(50, 55)] for first in ([40] * 5, range(40, 45)))
    options = {"loss": loss, "level_bounds": {"age": (1, 1)}, "search": search}

    assert told(same, **options) == told(spread, **options)


def test_averages_do_not_tell_that_all_are_alike():
    """The variance that averages lost is never told to be none."""
    options = {"levels": {"age": 1}, "microaggregate": {"age": "mean"}}
    alike, spread = told([42] * 5 + [52] * 5, **options), told([41, 42, 42, 42, 43] + [52] * 5, **options)

    assert alike == spread
    assert alike[1]["utility"]["columns"]["age"]["variance_lost"] == 0.01


def test_people_outside_the_hierarchy_are_the_population_s():
    """A value that only the population has, and no hierarchy covers, is said to be the population's."""
    people = pl.DataFrame({"age": ["41", "MARKER", "52"]})
    rule = cl.KMap(2, population=people, name="census.csv")
    with pytest.raises(InputError) as caught:
        cl.protect_table(pl.DataFrame({"age": [41] * 9}), qi=AGES, rule=[cl.KAnonymity(5), rule])

    assert (caught.value.file, caught.value.column) == ("census.csv", "age")
    assert "MARKER" not in str(caught.value)


def test_populations_are_read_as_the_table_is(tmp_path, monkeypatch):
    """Texts that are missing values of the table are so of the population, too."""
    from cloister.cli.main import run

    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("age,sex\n" + "41,F\n42,?\n" * 6)
    (tmp_path / "people.csv").write_text("age,sex\n" + "41,F\n43,?\n" * 20)
    words = ["--qi", "age=interval:5,10/top=90/bottom=0", "--qi", "sex=suppress", "-k", "2", "--missing", "?"]
    command = ["protect", "table", "d.csv", *words, "--rule", "k-map:people.csv=20", "--out", "o", "--quiet"]

    assert run([*command, "--suppression", "0"]) == 0
    assert run(["verify", "o", "--population", "people.csv", "--original", "d.csv", "--missing", "?", "-q"]) == 0
