"""What protection must not let through: suppressed values, the order of the input, odd names."""

import io
import pickle

import polars as pl
import pytest

import cloister as cl

KEY = b"k" * 32
MARKER = "SECRET-MARKER of a suppressed patient"


def with_outlier():
    """Forty patients of two kinds, and one who is suppressed; texts are too long to be kept inside a view."""
    kinds = ["a rather long first kind of value", "a rather long second kind of value"] * 20
    return pl.DataFrame(
        {
            "mrn": [f"a rather long number {row:04d}" for row in range(42)],
            "kind": [*kinds, f"{MARKER} in kind", f"{MARKER} in kind"],
            "dx": [*("a rather long text of a diagnosis" for _ in kinds), f"{MARKER} in dx", f"{MARKER} in dx"],
        }
    )


def released(frame, **options):
    """Protect this table with k = 3 and 5 % suppressed."""
    options = {"sensitive": ["dx"], "undecided": "drop", "suppression": 0.05, "purpose": "one-coding"} | options
    return cl.protect_table(frame, qi={"kind": cl.suppress()}, rule=[cl.KAnonymity(3)], **options)


@pytest.mark.parametrize("options", [{}, {"id": "mrn"}, {"id": "mrn", "ids": "hmac", "id_key": KEY}], ids=str)
def test_released_frames_do_not_carry_suppressed_values_along(options):
    """No byte of a suppressed value or an original id is in what the released frame is stored as."""
    data = released(with_outlier(), **options).data
    assert data.height == 40

    stored = [pickle.dumps(data), data.serialize()]
    for write in (data.write_ipc, data.write_ipc_stream, data.write_parquet):
        buffer = io.BytesIO()
        write(buffer)
        stored.append(buffer.getvalue())

    assert not any(text in content for content in stored for text in (b"SECRET", b"rather long number"))


def test_keyed_ids_do_not_follow_the_order_of_the_input():
    """Records that are equal but for their keyed ids come in the order of these."""
    frame = with_outlier()

    one = released(frame, id="mrn", ids="hmac", id_key=KEY).data
    other = released(frame.reverse(), id="mrn", ids="hmac", id_key=KEY).data

    assert one.rows() == other.rows()


AGES = ["61"] * 20 + ["68"] * 20


@pytest.mark.parametrize("ages", [["91"] * 5, ["103", "118", "95", "91", "92"], ["300"] * 5])
def test_published_losses_do_not_depend_on_suppressed_values(ages):
    """A domain that reaches to the ages of suppressed patients does not show in any figure."""
    frame = pl.DataFrame({"age": [*AGES, *ages], "sex": [*["F", "M"] * 20, *"abcde"]})
    release = cl.protect_table(
        frame,
        qi={"age": cl.intervals(5, 10), "sex": cl.suppress()},
        rule=[cl.KAnonymity(5)],
        suppression=0.12,
        levels={"age": 1, "sex": 0},
    )
    told = release.summary()

    assert told["records"]["suppressed"] == 5
    assert told["utility"]["exact"]
    assert told["utility"]["columns"]["age"]["loss"] == pytest.approx((40 * 4 / 9 + 5) / 45)


def test_one_suppressed_decimal_changes_nothing_that_is_told():
    """Labels and figures are those of the release without it."""
    ages = [str(20 + row % 40) for row in range(400)]
    told = [
        cl.protect_table(
            pl.DataFrame({"age": [*ages, last], "sex": [*["F"] * 400, "X"]}),
            qi={"age": cl.intervals(5, 10, top=90, bottom=0), "sex": cl.suppress()},
            rule=[cl.KAnonymity(5)],
            purpose="one-coding",
        )
        for last in ("57.5", "97")
    ]

    assert told[0].data.rows() == told[1].data.rows()
    assert told[0].summary()["utility"] == told[1].summary()["utility"]


@pytest.mark.parametrize("name", ["len", "c0", "records", "label", "text", "value", "a.b*", "=1"])
def test_columns_may_have_any_name(name):
    """No name is taken for a pattern or collides with one of ours."""
    frame = pl.DataFrame({name: ["1", "2"] * 6, "other": ["a"] * 12, "id": [str(row) for row in range(12)]})

    release = cl.protect_table(
        frame, qi={name: cl.suppress(), "other": cl.suppress()}, id="id", rule=[cl.KAnonymity(2)]
    )

    assert release.data[name].to_list() == ["1"] * 6 + ["2"] * 6
    assert release.verify().holds


@pytest.mark.parametrize("name", ["*", "^a.*$", "a\0b"])
def test_a_name_that_reads_as_a_pattern_is_refused(name):
    """A name that would stand for several columns is an error that gives its position, not a wrong release."""
    with pytest.raises(cl.InputError, match="column 1 reads as a pattern"):
        cl.protect_table(pl.DataFrame({name: ["a"]}), qi={name: cl.suppress()}, rule=[cl.KAnonymity(2)])


def test_missing_and_an_empty_label_stay_apart():
    """A value whose label is empty is released empty, and missing has the label that the file gives it."""
    hierarchy = cl.hierarchy_rows([["", "unknown", "*"], ["X", "", "*"], ["Y", "y", "*"]])
    frame = pl.DataFrame({"c": ["X", "X", None, None, "Y", "Y"]})

    release = cl.protect_table(frame, qi={"c": hierarchy}, rule=[cl.KAnonymity(2)], levels={"c": 1})

    assert release.data["c"].to_list() == [None, None, "unknown", "unknown", "y", "y"]


def test_a_domain_too_large_to_add_up_is_refused():
    """Sentinels of fifteen digits are an error that says what to do, not an overflow."""
    frame = pl.DataFrame({"v": [999_999_999_999_999, 5] * 6000})

    with pytest.raises(cl.InputError, match="too many to add up") as caught:
        cl.protect_table(frame, qi={"v": cl.intervals(5)}, rule=[cl.KAnonymity(2)])
    assert caught.value.column == "v"


def test_the_callers_frame_is_left_as_it_is():
    """Rows of stars are not written into the input."""
    frame = with_outlier()
    before = frame.clone()

    released(
        pl.concat([frame, frame.tail(2).with_columns(kind=pl.lit("other"), mrn=pl.lit("n"))]),
        suppression=0.1,
        keep_suppressed=True,
        accept=["mrn"],
    )
    released(frame)

    assert frame.equals(before)
