"""Released records beside those of the original that they were made from, compared value by value without SQL."""


def broken(released, own, guarantee, original):
    """The promises that are broken, of rows in the same order."""
    found = set()
    names = [column for column in guarantee.levels if column not in guarantee.averaged]
    recorded = [column for column in guarantee.columns if column not in guarantee.levels and column != guarantee.id]
    numbers, patients = {}, {}
    for row, was in zip(released.to_dicts(), own.to_dicts(), strict=True):
        for column in names:
            bound = original.hierarchies[column]
            place = bound.values.index(was[column])
            levels = guarantee.recoded.get(column, (guarantee.levels[column],))
            if row[column] not in [bound.labels[level][place] for level in levels]:
                found.add("labels")
        if any(row[column] != was[column] for column in recorded):
            found.add("recorded")
        if guarantee.id is not None and guarantee.patient is not None:
            of_class = tuple(row[column] for column in guarantee.levels)
            number, patient = (*of_class, row[guarantee.patient]), (*of_class, was[guarantee.patient])
            if numbers.setdefault(number, patient) != patient or patients.setdefault(patient, number) != number:
                found.add("patients")
    return found
