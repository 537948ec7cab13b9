"""Small tables with a column of codes, and what their releases must keep; for property tests."""

from dataclasses import replace
from decimal import Decimal

import polars as pl
from hypothesis import strategies as st
from tests.oracles.disassociation import Written

from cloister.hierarchy import intervals, suppress
from cloister.io import Source
from cloister.pipeline import protecting
from cloister.pipeline.tables_with_codes import TableWithCodesProtection, TableWithTermsProtection
from cloister.privacy import KAnonymity
from cloister.shapes.table.method.data import QuasiIdentifier, TableRequest

METHODS = ({}, {"method": "mondrian"}, {"method": "cluster"}, {"local_recoding": True}, {"merge_bound": 0.6})


@st.composite
def tables_with_codes(draw, most=16, empty=True):
    """Records of an age, a sex, codes and a ward."""
    weighted = draw(st.sampled_from(["abcdef", "aaabbcdef", "aabbcc", "abc"]))
    least = 0 if empty and draw(st.booleans()) else 1
    record = st.tuples(
        st.integers(20, 59),
        st.sampled_from("FM"),
        st.lists(st.sampled_from(weighted), min_size=least, max_size=4),
        st.sampled_from("xy"),
    )
    records = draw(st.lists(record, min_size=4, max_size=most))
    if not any(codes for _, _, codes, _ in records):
        records[0] = (*records[0][:2], ["a"], records[0][3])
    return pl.DataFrame(
        {
            "id": [f"patient {number}" for number in range(len(records))],
            "age": [age for age, _, _, _ in records],
            "codes": [" ".join(codes) for _, _, codes, _ in records],
            "sex": [sex for _, sex, _, _ in records],
            "ward": [ward for _, _, _, ward in records],
        }
    )


def asked_of(k=2, **changes):
    """A request for such a table."""
    return replace(
        TableRequest(
            quasi_identifiers={"age": QuasiIdentifier(intervals(5, 10)), "sex": QuasiIdentifier(suppress())},
            rules=(KAnonymity(k),),
            suppression=Decimal("0.3"),
            id="id",
            keep=("ward",),
        ),
        **changes,
    )


def protect(frame, request, asked):
    """The release of a table with codes."""
    kind = TableWithCodesProtection if asked.method == "disassociation" else TableWithTermsProtection
    return protecting.protect(kind(Source(frame, "csv", ",", None, "a table"), request, asked))


def in_class(release, class_of, number):
    """The part of a written release that is about one class."""
    mine = [cluster for cluster, own in enumerate(class_of) if own == number]
    place = {cluster: position for position, cluster in enumerate(mine)}
    shared = [chunk for chunk in release.shared if chunk.members[0] in place]
    return Written(
        tuple(release.clusters[cluster] for cluster in mine),
        tuple(replace(chunk, members=tuple(place[cluster] for cluster in chunk.members)) for chunk in shared),
    )
