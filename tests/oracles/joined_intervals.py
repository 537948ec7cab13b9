"""The shortest run of intervals that has the numbers of a class, by its definition, on plain whole numbers."""


def cell_of(number, width, top=None):
    """Where the interval of a number begins and ends; an end is None where it is open."""
    if top is not None and number >= top:
        return top, None
    begin = number // width * width
    return begin, begin + width if top is None else min(begin + width, top)


def run_of(numbers, width, top=None):
    """Where the first interval of some numbers begins, and where the last one ends."""
    cells = [cell_of(number, width, top) for number in numbers]
    ends = [end for _, end in cells]
    return min(begin for begin, _ in cells), None if None in ends else max(ends)


def written(begin, end):
    """The label of a run."""
    if end is None:
        return f">={begin}"
    return f"[{begin}{'-' if begin >= 0 <= end - 1 else ' to '}{end - 1}]"


def label_of(values, domain, widths, top=None):
    """The label of a class: its value, its interval, the shortest run of intervals, or ``*``.

    Parameters
    ----------
    values : of the records of the class; None is missing
    domain : all values of the column, which tell what ``*`` covers
    """
    if None in values:
        return None if set(values) == {None} else "*"
    if len(set(values)) == 1 and (top is None or values[0] < top):
        return str(values[0])
    run = run_of(values, widths[0], top)
    known = [value for value in domain if value is not None]
    if None not in domain and run == run_of(known, widths[-1], top):
        return "*"
    return written(*run)
