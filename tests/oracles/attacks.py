"""Compatibility by its definition, slow: which released records somebody may be behind, read from the released text.

A label is read as a person would: ``[40-49]`` is an interval, ``021**`` a prefix, ``*`` anything, ``(a,b)`` one or more
of these codes. Written from what the files say, without any code of the package.
"""

import re
from collections import Counter
from itertools import combinations, permutations


def covers(label, value):
    """Whether a label may stand for a value."""
    if label == "*":
        return True
    if label is None or value is None:
        return label is None and value is None
    interval = re.fullmatch(r"\[(\d+)-(\d+)\]", label)
    if interval and value.isdigit():
        return int(interval[1]) <= int(value) <= int(interval[2])
    if label.startswith(">="):
        return (value.isdigit() and int(value) >= int(label[2:])) or value == label
    if label.endswith("*"):
        return len(label) == len(value) and value.startswith(label.rstrip("*"))
    return label == value


def rows_like(rows, known):
    """Released rows, as dictionaries, whose labels cover all known values."""
    return [row for row in rows if all(covers(row[column], value) for column, value in known.items())]


def singled_out(rows, people, recorded, averaged=()):
    """How many distinct predicates the rows are, and how many of them exactly one person satisfies.

    A row is satisfied by values under its labels, equal recorded values, and of averages the nearest.
    """
    exact = [column for column in rows[0] if column not in (*recorded, *averaged)] if rows else []

    def gap(row, person, column):
        return abs(float(row[column]) - float(person[column]))

    def satisfies(person, row):
        like = rows_like(rows, {column: person[column] for column in exact})
        return (
            row in like
            and all(row[column] == person[column] for column in recorded)
            and all(gap(row, person, one) <= min(gap(each, person, one) for each in like) + 1e-9 for one in averaged)
        )

    distinct = [row for place, row in enumerate(rows) if row not in rows[:place]]
    return len(distinct), sum(sum(satisfies(person, row) for person in people) == 1 for row in distinct)


def term_codes(term):
    """The codes that a term stands for."""
    return set(term[1:-1].split(",")) if term.startswith("(") else {term}


def records_with(cells, codes):
    """Released records that have a term for each code; a code of no term says nothing."""
    terms = [[term_codes(term) for term in cell.split()] for cell in cells]
    released = set().union(*(codes for record in terms for codes in record))
    return [
        record for record in terms if all(any(code in term for term in record) for code in codes if code in released)
    ]


def candidates(clusters, codes):
    """For each cluster of ``clusters.json`` the fewest subrecords of a chunk that may be somebody's; 0: not there."""
    joints, members = clusters["joint_clusters"], []
    for joint in joints:
        members.append({*joint["clusters"], *(one for inner in joint["joint"] for one in members[inner])})
    found = []
    for number, cluster in enumerate(clusters["clusters"]):
        own = cluster["record_chunks"]
        elsewhere = set(cluster["item_chunk"]).union(*(chunk["domain"] for chunk in own))
        shared = [chunk for chunk in clusters["shared_chunks"] if number in members[chunk["joint"]]]
        counts, left = [], set(codes)
        for chunk, banned in [(chunk, set()) for chunk in own] + [(chunk, elsewhere) for chunk in shared]:
            here = left & set(chunk["domain"]) - banned
            if here:
                counts.append(sum(here <= set(subrecord) for subrecord in chunk["subrecords"]))
                left -= here
        if left & set(cluster["item_chunk"]):
            counts.append(cluster["size"])
            left -= set(cluster["item_chunk"])
        found.append(0 if left else min(counts, default=cluster["size"]))
    return found


def sequences_with(sequences, pairs, under):
    """Released sequences in which the pairs may stand at places that ascend, in an order of rising age.

    ``under`` gives the codes that each label of a code stands for, and the details of each label of a detail. Which of
    several pairs of one age comes first, nobody knows.
    """
    orders = [order for order in permutations(pairs) if list(order) == sorted(order, key=lambda pair: int(pair[1]))]
    return [
        sequence
        for sequence in sequences
        if any(
            all(stands_for(labels, pair, under) for labels, pair in zip(some, order, strict=True))
            for some in combinations(sequence, len(pairs))
            for order in orders
        )
    ]


def stands_for(labels, pair, under):
    """Whether the labels of a released pair cover the values of another."""
    (code, age, *detail), (value, at, *other) = labels, pair
    named = zip([code, *detail], [value, *other], strict=True)
    return covers(age, at) and all(one in under[label] for label, one in named)


def patients_with(patients, cell, drawn):
    """Released patients, each a pair of a cell and one list of values a column, with a cell and all values drawn."""
    return [
        patient
        for patient in patients
        if patient[0] == cell
        and all(not Counter(wanted) - Counter(held) for wanted, held in zip(drawn, patient[1], strict=True))
    ]


def people_behind(sequence, shown, summaries, register, under):
    """How many people may be the patient of a released sequence, by discharge summaries alone and with a register.

    ``summaries``: for each patient the pairs, the demographics, and what of these is released; ``shown``: what is
    released next to the sequence. People without a line in the register count once.
    """
    fits = [
        demographics
        for pairs, demographics, seen in summaries
        if seen == shown
        and any(
            all(
                code in under[label] and covers(age, at)
                for (label, age), (code, at) in zip(sequence, some, strict=True)
            )
            for some in combinations(sorted(pairs, key=lambda pair: (int(pair[1]), pair[0])), len(sequence))
        )
    ]
    return len(fits), sum(max(register.count(each), fits.count(each)) for each in set(fits))
