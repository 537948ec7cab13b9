"""What an imputed cell may be, by the definitions of a label and of a draw, one cell at a time."""

from itertools import product

from cloister.hierarchy import ROOT


def is_inside(hierarchy, domain, label, drawn):
    """Whether a label stands for all that a drawn value stands for: a value for itself, a group for its values."""
    if drawn is None or label is None:
        return drawn is None and label in (None, ROOT)
    if drawn == label:
        return True
    known = domain if hierarchy.outside([drawn]) or drawn in domain else [drawn, *domain]
    above = {one: [level[0] for level in hierarchy.bind("x", [one]).labels] for one in known}
    covered = {name: {one for one in known if name in above[one]} for name in (label, drawn)}
    return covered[drawn] <= covered[label] and bool(covered[label])


def may_be_drawn(positions, leaf, donors, leaf_of_donor):
    """All of these positions that a cell may take: of donors in its leaf, else in the nearest leaves, else any."""
    admitted = [(abs(own - leaf), donor) for donor, own in zip(donors, leaf_of_donor) if donor in positions]
    nearest = min((distance for distance, _ in admitted), default=None)
    return {donor for distance, donor in admitted if distance == nearest} or set(positions)


def in_order(labels):
    """For each label of one patient's ages, all ages that it has in some sequence in order inside the labels."""
    found = [set() for _ in labels]
    for ages in product(*(range(first, last + 1) for first, last in labels)):
        if list(ages) == sorted(ages):
            for place, age in enumerate(ages):
                found[place].add(age)
    return found


def levels_above(hierarchy, value):
    """The labels of a value at all levels."""
    return [level[0] for level in hierarchy.bind("x", [value]).labels]
