"""Patients and claims made up as numbers, small by Hypothesis and large by NumPy, and the same as plain lists."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from cloister.shapes.claims.format.released_columns import ClaimsForm, WrittenClaims
from cloister.shapes.claims.method.encode import MISSING, EncodedClaims, EncodedColumn


def column(name, values, *levels):
    """A column from its values (None is missing) and, above level 0, the label of each base value at each level."""
    n_values = max([len(levels[0]) if levels else 0, *(value + 1 for value in values if value is not None)], default=0)
    table = np.array([list(range(n_values)), *levels, [0] * n_values], dtype=np.int32).reshape(-1, n_values)
    height = len(table) - 1
    losses = np.repeat(np.arange(height + 1)[:, None] / height, n_values, axis=1)
    labels = tuple(tuple(f"{name}-{level}-{v}" for v in range(n_values)) for level in range(height + 1))
    numbers = np.array([-1 if value is None else value for value in values], dtype=np.int32)
    return EncodedColumn(name, numbers, table, labels, losses)


def claims_of(patients, claims, hierarchies=()):
    """Encoded claims from a list of rows for the patients, and for each patient a list of rows of claims.

    ``hierarchies`` gives, for the columns of patients and then of claims, the levels between the first and the last.
    """
    rows = [row for own in claims for row in own]
    width = len(patients[0]) if patients else 0
    n_columns = max((len(row) for row in rows), default=len(hierarchies) - width)
    hierarchies = list(hierarchies) or [()] * (width + n_columns)
    return EncodedClaims(
        tuple(column(f"p{j}", [row[j] for row in patients], *hierarchies[j]) for j in range(width)),
        tuple(column(f"c{h}", [row[h] for row in rows], *hierarchies[width + h]) for h in range(n_columns)),
        np.cumsum([0, *map(len, claims)]).astype(np.int64),
    )


def text_at(column, level):
    """Label of each row at a level, None where the value is missing."""
    texts = column.labels[level]
    return [None if number == MISSING else texts[number] for number in column.at(level).tolist()]


@st.composite
def few_claims(draw, most_patients=6, most_claims=4):
    """Up to six patients with a handful of claims, two columns of claims, some of it missing."""
    n = draw(st.integers(1, most_patients))
    value = st.one_of(st.none(), st.integers(0, 3))
    row = st.tuples(value, value)
    patients = draw(st.lists(st.tuples(st.integers(0, 1)), min_size=n, max_size=n))
    claims = draw(st.lists(st.lists(row, max_size=most_claims), min_size=n, max_size=n))
    halves = draw(st.sampled_from([(0, 0, 1, 1), (0, 1, 1, 0), (0, 1, 0, 2)]))
    return claims_of(patients, claims, [(), (halves,), ((0, 0, 1, 1),)])


def many_claims(n_patients=2000, mean_claims=25, seed=0, sizes=(400, 40, 12, 8, 30, 60)):
    """A population with three columns of patients and six of claims, skewed values, three to four levels each."""
    random = np.random.default_rng(seed)
    counts = np.minimum(random.geometric(1 / mean_claims, n_patients), 12 * mean_claims)
    n_claims = int(counts.sum())
    owners = np.repeat(np.arange(n_patients), counts)
    patients = [
        numbered("age", random.integers(0, 80, n_patients), 80, (5, 10, 20)),
        numbered("sex", random.integers(0, 2, n_patients), 2, ()),
        numbered("days", random.geometric(0.5, n_patients).clip(1, 16) - 1, 16, (4, 8)),
        numbered("state", random.zipf(1.5, n_patients).clip(1, 50) - 1, 50, (10,)),
    ]
    claims = []
    for h, size in enumerate(sizes):
        own = random.zipf(1.3, n_patients) % size
        other = random.zipf(1.2, n_claims) % size
        chronic = random.random(n_claims) < 0.5
        claims.append(numbered(f"c{h}", np.where(chronic, own[owners], other), size, (2, 10)))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return EncodedClaims(tuple(patients), tuple(claims), offsets)


def numbered(name, values, size, widths):
    """A column of numbers below ``size`` whose levels are ranges of these widths."""
    base = np.arange(size)
    levels = np.array([base, *(base // width for width in widths), base * 0], dtype=np.int32)
    losses = np.linspace(0, 1, len(levels))[:, None] * np.ones(size)
    labels = tuple(tuple(f"{name}-{j}-{v}" for v in range(int(row.max()) + 1)) for j, row in enumerate(levels))
    return EncodedColumn(name, np.asarray(values, dtype=np.int32), levels, labels, losses)


def written(released, levels):
    """The two files of a release of all patients, without flags, and what their columns are."""
    encoded, n = released.encoded, len(released.encoded.patients)
    texts = [text_at(column, level) for column, level in zip(encoded.columns, levels, strict=True)]
    ids = [str(number + 1) for number in range(encoded.n_patients)]
    own = {"id": ids} | {column.name: texts[place] for place, column in enumerate(encoded.patients)}
    rows, claims = np.flatnonzero(released.claims).tolist(), {"id": [ids[owner] for owner in encoded.owners]}
    for h, column in enumerate(encoded.claims):
        shown = zip(texts[n + h], released.cells[h].tolist(), strict=True)
        claims[column.name] = [text if is_shown else None for text, is_shown in shown]
    claims = {name: [cells[row] for row in rows] for name, cells in claims.items()}
    frames = [pl.DataFrame(table, schema=dict.fromkeys(table, pl.String)) for table in (own, claims)]
    return WrittenClaims(*frames), form_of([*own][1:], [*claims][1:])


def form_of(patients, claims, more=()):
    """The columns of a release with these quasi-identifiers, and some pseudonyms of claims."""
    ids, flag = {"role": "identifier", "ids": "number"}, {"role": "flag"}
    quasi = {"role": "quasi-identifier", "hierarchy": "suppress", "level": 0, "top": 1}
    return ClaimsForm.model_validate(
        {
            "patients": {"id": ids} | dict.fromkeys(patients, quasi) | {"claims_truncated": flag},
            "claims": {"id": ids, **dict.fromkeys(claims, quasi)}
            | {f"sup_{name}": flag for name in claims}
            | {name: {"role": "pseudonym", "numbered_with": name} for name in more},
        }
    )


def constant_power(encoded, p):
    """The same power for every patient and column."""
    return np.full((encoded.n_patients, len(encoded.claims)), p, dtype=np.int32)
