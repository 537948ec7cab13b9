"""(k, k^m)-anonymity of a table with terms, by enumeration; and what the terms of a class make of codes."""

from collections import Counter, defaultdict
from itertools import combinations

NOTHING = "()"


def codes_of(term):
    """The codes of a term."""
    return term[1:-1].split(",") if term.startswith("(") else [term]


def terms_of(cell):
    """The terms of a record."""
    return [] if cell == NOTHING else cell.split(" ")


def by_class(rows):
    """The cells of each class, from pairs of a class and a cell; patients without codes have none."""
    found = defaultdict(list)
    for labels, cell in rows:
        if cell is not None:
            found[labels].append(cell)
    return found


def unprotected(rows, k, m):
    """Every class and set of up to m terms that a record of it has, but fewer than k records."""
    found = {}
    for labels, cells in by_class(rows).items():
        counts = Counter(
            chosen
            for cell in cells
            for size in range(1, m + 1)
            for chosen in combinations(sorted(set(terms_of(cell))), size)
        )
        found |= {(labels, chosen): n for chosen, n in counts.items() if n < k}
    return found


def malformed(rows, k):
    """Classes in which a code is in two terms, or fewer than k records are without any term."""
    found = set()
    for labels, cells in by_class(rows).items():
        codes = Counter(code for term in {term for cell in cells for term in terms_of(cell)} for code in codes_of(term))
        if max(codes.values(), default=0) > 1 or 0 < cells.count(NOTHING) < k:
            found.add(labels)
    return found


def expected(codes, cells):
    """What the terms of a class make of the codes of a patient; codes of no term vanish."""
    term_of = {code: term for cell in cells for term in terms_of(cell) for code in codes_of(term)}
    terms = sorted({term_of[code] for code in codes if code in term_of}, key=lambda term: codes_of(term)[0])
    return " ".join(terms) or NOTHING


def suppressed(codes, cells):
    """The codes that are in no term of a class."""
    return set(codes) - {code for cell in cells for term in terms_of(cell) for code in codes_of(term)}


def covers(label, value):
    """Whether a released label stands for a value: itself, the interval it is in, or ``*``."""
    if label == "*" or label == str(value):
        return True
    lower, dash, upper = label.strip("[]").partition("-")
    return bool(dash) and int(lower) <= value <= int(upper)


def may_come_from(released, original, may_suppress):
    """Whether each released record can be another one of the original, and terms name codes of these alone.

    ``released``: age, sex, ward and cell of each record with codes; ``original``: age, sex, ward and codes of each
    """
    cells = by_class(((age, sex), cell) for age, sex, _, cell in released)

    def is_below(row, other):
        return covers(row[0], other[0]) and covers(row[1], other[1])

    def fits(row, other):
        own = cells[row[:2]]
        is_whole = may_suppress or not suppressed(other[3], own)
        return is_below(row, other) and row[2] == other[2] and is_whole and expected(other[3], own) == row[3]

    partner = {}

    def find(row, seen):
        for place, other in enumerate(original):
            if place not in seen and fits(row, other):
                seen.add(place)
                if place not in partner or find(partner[place], seen):
                    partner[place] = row
                    return True
        return False

    if not all(find((*row, number), set()) for number, row in enumerate(released)):
        return False
    known = {row[:2]: {c for other in original if is_below(row, other) for c in other[3]} for row in released}
    named = {labels: {c for cell in own for t in terms_of(cell) for c in codes_of(t)} for labels, own in cells.items()}
    return all(named[labels] <= known[labels] for labels in named)
