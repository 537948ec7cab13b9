"""Recodings of random tables, for tests: what methods with different levels in different classes are run on."""

from dataclasses import replace

from tests.made.ruled_tables import ruled_cases

from cloister.shapes.table.method.encode import encode
from cloister.shapes.table.method.recoding.table_recoding import recoding_of


def recoding(case, frame=None, **changes):
    """What a method works on for a case of any kind."""
    request = replace(case.request(), **changes)
    return recoding_of(encode(case.frame() if frame is None else frame, request), request)


def groups_of(recoded, partition):
    """Records of each class of a partition, as sets of their positions."""
    classes = partition.class_of_row[recoded.problem.row_of_record]
    return {frozenset((classes == one).nonzero()[0].tolist()) for one in set(classes.tolist()) - {-1}}


def is_recodable(ruled):
    """Whether no rule needs full-domain generalization."""
    return not any(rule.full_domain_because for rule in ruled.rules)


def recodable_cases(**options):
    """Cases that methods with different levels take."""
    return ruled_cases(**options).filter(is_recodable)
