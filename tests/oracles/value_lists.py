"""The label of the categories of a class, by its definition, on plain texts."""


def label_of(values, released, rows, k):
    """The value, the list of some of the frequent values, or the lowest label of the hierarchy that all share.

    Parameters
    ----------
    values : of the records of the class; None is missing
    released : the values of all released records
    rows : of the hierarchy: value, labels, root; missing has its row
    """
    path = {row[0]: row for row in rows}
    level = next(n for n in range(len(rows[0])) if len({path[value][n] for value in values}) == 1)
    label, distinct = path[values[0]][level], {*values}
    frequent = {value for value in released if value is not None and released.count(value) >= k}
    covered = sum(path[value][level] == label for value in frequent)
    can_list = distinct <= frequent
    if 1 < len(distinct) <= k // 2 and len(distinct) < covered and can_list:
        return "{" + " | ".join(sorted(distinct)) + "}"
    return label
