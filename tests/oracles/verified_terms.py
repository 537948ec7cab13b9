"""The promises of generalized code sets, checked without SQL: sets of terms are counted one by one."""

from collections import Counter

from tests.oracles.generalization import rare_itemsets


def broken(cells, k, m, repeats=False):
    """The promises that released cells break; a cell is the terms of a record, or None."""
    records = [() if text is None else tuple(text.split(" ")) for text in cells]
    terms = {term: _codes_of(term) for record in records for term in record}
    times = Counter(code for codes in terms.values() for code in set(codes))
    found = {
        "number": len(records) < k or not terms,
        "rare sets": any(rare_itemsets([frozenset(record) for record in records], k, m)),
        "no terms": 0 < records.count(()) < k,
        "a term twice": any(len(set(record)) < len(record) for record in records),
        "terms": not all(_is_written(term, codes) for term, codes in terms.items())
        or max(times.values(), default=1) > 1,
        "occurrences": repeats and not _are_nested(records, terms),
        "order": list(cells) != sorted(cells, key=lambda text: (text or "").encode()),
    }
    return [promise for promise, is_broken in found.items() if is_broken]


def _codes_of(term):
    return term[1:-1].split(",") if term.startswith("(") and term.endswith(")") else [term]


def _is_written(term, codes):
    """Whether codes are in order, and in brackets where they are several."""
    text = codes[0] if len(codes) == 1 else f"({','.join(codes)})"
    is_plain = all(code and not set(code) & set("(),") for code in codes)
    return is_plain and codes == sorted(set(codes)) and term == text


def _are_nested(records, terms):
    """Whether whoever has an occurrence has all earlier ones, numbered from 1 without gaps."""
    place = {}
    for term, codes in terms.items():
        for code in codes:
            stem, mark, number = code.rpartition("#")
            if not (stem and mark and number.isdecimal() and not number.startswith("0")):
                return False
            place.setdefault(stem, {})[int(number)] = term
    held = {term: {at for at, record in enumerate(records) if term in record} for term in terms}
    return all(
        number == 1 or (number - 1 in of_code and held[term] <= held[of_code[number - 1]])
        for of_code in place.values()
        for number, term in of_code.items()
    )
