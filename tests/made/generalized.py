"""Small code sets to be generalized: eight codes under a hierarchy of three levels, and requests for them."""

from cloister import CodeSets, UtilityPolicy
from cloister.errors import NoSafeRelease
from cloister.hierarchy import hierarchy_rows
from cloister.shapes.generalization.format.data import GeneralizationMethod, GeneralizationRequest, TermLoss, Uncovered
from cloister.shapes.generalization.method.protect import generalize

CODES = "abcdefgh"
ROWS = [
    ["a", "ab", "abc", "*"],
    ["b", "ab", "abc", "*"],
    ["c", "c.", "abc", "*"],
    ["d", "def", "defgh", "*"],
    ["e", "def", "defgh", "*"],
    ["f", "def", "defgh", "*"],
    ["g", "gh", "defgh", "*"],
    ["h", "gh", "defgh", "*"],
]
HIERARCHY = hierarchy_rows(ROWS)
ABOVE = {row[0]: row[1:] for row in ROWS}


def code_sets(records):
    """Code sets of these records."""
    return CodeSets.from_records([[*record] for record in records])


def request_for(
    k, privacy, method=GeneralizationMethod.CBA, groups=(), uncovered=Uncovered.GENERALIZE, loss=TermLoss.ILM, **more
):
    """A request with the hierarchy of this file and constraints named by number."""
    policy = UtilityPolicy.of({str(number): group for number, group in enumerate(groups)})
    return GeneralizationRequest(k, privacy, method, uncovered, loss, HIERARCHY, policy=policy, **more)


def protect(records, request):
    """What is released of some records; None where everything would be suppressed."""
    try:
        return generalize(code_sets(records), request)
    except NoSafeRelease:
        return None


def terms_of(released):
    """The terms as sets of codes."""
    return {frozenset(term) for term in released.named_terms()}
