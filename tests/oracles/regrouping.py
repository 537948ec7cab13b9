"""Local search over classes by its definition, on plain records: `cloister.kernels.regroup`.

Classes are lists of rows, a row is a list of places of records with the same values (`tests.oracles.recodings.Table`).
"""

from math import inf

NEIGHBOURS, STARTS, MOST_ROWS, PASSES, LESS = 2, 6, 120, 6, 1e-9


class Search:
    """Classes by number; those that end are gone, new ones get the lowest free numbers."""

    def __init__(self, table, rows, class_of, least):
        self.table, self.rows, self.least = table, rows, least
        self.classes = {number: [] for number in class_of}
        for row, number in enumerate(class_of):
            self.classes[number].append(row)

    def size(self, members):
        """Records of some rows."""
        return sum(len(self.rows[row]) for row in members)

    def worth(self, members):
        """What a record of these rows loses if they are one class."""
        return self.table.price([place for row in members for place in self.rows[row]])

    def loss(self, members):
        """What all records of these rows lose if they are one class."""
        return self.size(members) * self.worth(members)

    def owner(self, row):
        """The class of a row."""
        return next(number for number, members in self.classes.items() if row in members)

    def nearest(self, row, own, n, most, instead=()):
        """The classes to which a row adds least, least first, with what it adds; other members may be thought of."""
        classes = {**self.classes, **dict(instead)}
        found = [(most, -1)] * n
        for number in sorted(classes):
            least = self.size([row]) * self.worth(classes[number]) if classes[number] else inf
            if number != own and least < found[-1][0]:
                cost = self.loss([*classes[number], row]) - self.loss(classes[number])
                if cost < found[-1][0]:
                    found = sorted([*found[:-1], (cost, number)], key=lambda one: one[0])
        return found

    def dissolve(self, own):
        """Classes after each member of one joined the nearest, one after the other; None if that saves nothing."""
        left, instead = self.loss(self.classes[own]) - LESS, {}
        for row in self.classes[own]:
            ((cost, number),) = self.nearest(row, own, 1, left, instead)
            left -= cost
            if left <= 0:
                return None
            instead[number] = [row, *instead.get(number, self.classes[number])]
        return instead

    def group(self, members, begin):
        """Groups that grow one after the other, the first from a member."""
        free, groups, left = list(members), [], self.size(members)
        while left >= self.least and begin is not None:
            group, new = [], begin
            while new is not None:
                group.append(new)
                free.remove(new)
                left -= self.size([new])
                new = None
                if self.size(group) < self.least and free:
                    new = min(free, key=lambda row: self.worth([*group, row]))
            if self.size(group) < self.least:
                return None
            groups.append(group)
            begin = max(free, key=lambda row: self.worth([begin, row]), default=None)
        for row in free:
            best = min(groups, key=lambda group: self.loss([*group, row]) - self.loss(group))
            best.append(row)
        return groups

    def regroup(self, numbers):
        """The cheapest of several groupings of the members of classes; None if none saves anything."""
        members = [row for number in numbers for row in self.classes[number]]
        if len(members) > MOST_ROWS:
            return None
        best, least = None, sum(self.loss(self.classes[number]) for number in numbers) - LESS
        n = min(STARTS, len(members))
        for start in range(n):
            groups = self.group(members, members[start * len(members) // n])
            if groups and (loss := sum(map(self.loss, groups))) < least - 1e-12:
                best, least = [[row for row in members if row in group] for group in groups], loss
        return best

    def replace(self, numbers, groups):
        """Put groups in the place of classes."""
        for number in numbers:
            del self.classes[number]
        for group in groups:
            number = next(number for number in range(len(self.rows) + 1) if number not in self.classes)
            self.classes[number] = group[::-1]
        return {row for group in groups for row in group}

    def improve_at(self, row):
        """Rows whose classes changed by dissolving, splitting or regrouping at a row."""
        own = self.owner(row)
        members = list(self.classes[own])
        if len(members) <= MOST_ROWS and (instead := self.dissolve(own)) is not None:
            self.classes |= instead
            del self.classes[own]
            return set(members)
        tried = [[own]] if self.size(members) >= 2 * self.least else []
        near = [number for _, number in self.nearest(row, own, NEIGHBOURS, inf) if number >= 0]
        for numbers in [*tried, [own, *near]]:
            if groups := self.regroup(numbers):
                return self.replace(numbers, groups)
        return set()

    def improve(self):
        """Classes after all rows had their turns, as sets."""
        settled = set()
        for _ in range(PASSES):
            any_changed = False
            for row in range(len(self.rows)):
                members = self.classes[self.owner(row)]
                if row in (members[0], members[-1]) and row not in settled and self.worth(members) > 0:
                    settled.add(row)
                    changed = self.improve_at(row)
                    any_changed |= bool(changed)
                    settled -= changed
            if not any_changed:
                break
        return {frozenset(members) for members in self.classes.values()}
