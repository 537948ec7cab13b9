"""Privacy rules by their definitions, on lists of (class key, sensitive value) records; a missing value is None.

Every function returns, by class key, whether the class satisfies the rule. Shares are fractions and logarithms decimals
of 40 digits; a share or sum within 1e-12 of its threshold equals it. ``whole`` holds the sensitive values of the input.
"""

from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise
from math import comb

getcontext().prec = 40
NEAR = Fraction(1, 10**12)


def by_class(records):
    """Values of each class."""
    classes = {}
    for key, value in records:
        classes.setdefault(key, []).append(value)
    return classes


def known(values):
    """Values that are there."""
    return [value for value in values if value is not None]


def share(values, value):
    """Share of a value among values."""
    return Fraction(values.count(value), len(values))


def ln(fraction):
    """Logarithm of a positive fraction, to 40 digits."""
    return Fraction((Decimal(fraction.numerator) / Decimal(fraction.denominator)).ln())


def k_anonymity(records, k):
    """Sweeney (2002): each class has k records."""
    return {key: len(values) >= k for key, values in by_class(records).items()}


def no_attack(records, gain, cost):
    """Wan et al. (2015), nobody attacks: gain / records of the class < cost, of decimals as they are written."""
    of_class = {key: Fraction(str(gain)) / len(values) for key, values in by_class(records).items()}
    return {key: expected < Fraction(str(cost)) for key, expected in of_class.items()}


def payout(size, level_loss, gain, cost, benefit, loss):
    """Wan et al. (2015): the publisher's expected payout by a record of a class, where the adversary plays its best."""
    gain, cost, benefit, loss = (Fraction(str(price)) for price in (gain, cost, benefit, loss))
    succeeds = Fraction(1, size)
    return benefit * (1 - level_loss) - (loss * succeeds if gain * succeeds - cost >= 0 else 0)


def positive_payout(records, level_loss, *prices):
    """Wan et al. (2015), attacks accepted: a record is worth more to the publisher than attacks on it cost."""
    return {key: payout(len(values), level_loss, *prices) > 0 for key, values in by_class(records).items()}


def l_diversity(records, ell):
    """Machanavajjhala et al. (2007), distinct: ell values, missing not among them."""
    return {key: len(set(known(values))) >= ell for key, values in by_class(records).items()}


def k_patients(records, k):
    """Wang, Fung (2006): each class has records of k patients."""
    return {key: len({patient for one, patient in records if one == key} - {None}) >= k for key, _ in records}


def entropy_l_diversity(records, ell):
    """Machanavajjhala et al. (2007), entropy: -sum of q ln q >= ln ell, over the records with a value."""
    found = {}
    for key, values in by_class(records).items():
        shares = [share(known(values), value) for value in set(known(values))]
        entropy = -sum((q * ln(q) for q in shares), Fraction(0))
        found[key] = bool(shares) and entropy >= ln(Fraction(ell)) - NEAR
    return found


def recursive_l_diversity(records, c, ell):
    """Machanavajjhala et al. (2007), recursive: r1 < c (r(ell) + ... + r(m)), over the records with a value."""
    found = {}
    for key, values in by_class(records).items():
        r = sorted(Counter(known(values)).values(), reverse=True)
        tail = sum(r[ell - 1 :])
        found[key] = tail > 0 and Fraction(r[0], sum(r)) < Fraction(c) * Fraction(tail, sum(r)) - NEAR
    return found


def alpha_k_anonymity(records, alpha, k):
    """Wong et al. (2006): k records, and no value with a share above alpha of the records that have one."""
    found = {}
    for key, values in by_class(records).items():
        shares = [share(known(values), value) for value in known(values)]
        found[key] = len(values) >= k and bool(shares) and max(shares) <= Fraction(alpha) + NEAR
    return found


def beta_likeness(records, whole, beta, enhanced=False):
    """Cao and Karras (2012): (q - p) / p <= beta, or min(beta, -ln p), of all records and of those with a value."""
    found = {}
    for key, values in by_class(records).items():
        safe = bool(known(values))
        for among, against in ((values, whole), (known(values), known(whole))):
            for value in set(known(values)):
                q, p = share(among, value), share(against, value)
                limit = min(Fraction(beta), -ln(p)) if enhanced else Fraction(beta)
                safe = safe and (q - p) / p <= limit + NEAR
        found[key] = safe
    return found


def delta_disclosure(records, whole, delta):
    """Brickell and Shmatikov (2008): abs(ln(q / p)) < delta for every value of the input, missing included."""
    found = {}
    for key, values in by_class(records).items():
        factors = [share(values, value) / share(whole, value) for value in set(whole)]
        found[key] = all(factor > 0 and abs(ln(factor)) < Fraction(delta) - NEAR for factor in factors)
    return found


def equal_distance(values, whole):
    """Li et al. (2007): half the sum of the differences."""
    return sum((abs(share(values, value) - share(whole, value)) for value in set(whole)), Fraction(0)) / 2


def ordered_distance(values, whole):
    """Li et al. (2007), ordered distance; missing is 1 from every value: what it has more or less is moved first."""
    p_missing, q_missing = share(whole, None), share(values, None)
    domain = sorted(set(known(whole)))
    row = Fraction(0)
    if len(domain) > 1 and known(values):
        lag = Fraction(0)
        for value in domain:
            lag += share(known(values), value) - share(known(whole), value)
            row += abs(lag)
        row /= len(domain) - 1
    return abs(q_missing - p_missing) + (1 - q_missing) * row


def least_work(surplus, cost):
    """Least work that moves all surplus to where it lacks, by trying every way; whole numbers, few of them."""
    give = [place for place, number in enumerate(surplus) for _ in range(number)]
    take = [place for place, number in enumerate(surplus) for _ in range(-number)]
    best = {(): Fraction(0)}
    for place in give:
        tried = {}
        for used, work in best.items():
            for spot in set(range(len(take))) - set(used):
                key = tuple(sorted((*used, spot)))
                total = work + cost(place, take[spot])
                tried[key] = min(total, tried.get(key, total))
        best = tried
    return best[tuple(range(len(take)))]


def hierarchical_distance(values, whole, names):
    """Li et al. (2007), hierarchical: over inner nodes, height / H times the lesser of what children lack or have."""
    highest = len(names[whole[0]]) - 1
    if highest == 0:
        return Fraction(0)

    def extra(path):
        """Surplus of the node at the end of a path from the root."""
        level = highest + 1 - len(path)
        inside = [value for value in set(whole) if tuple(reversed(names[value][level:])) == path]
        return sum((share(whole, value) - share(values, value) for value in inside), Fraction(0))

    work = Fraction(0)
    for level in range(1, highest + 1):
        nodes = {tuple(reversed(names[value][level:])) for value in set(whole)}
        for node in nodes:
            below = {tuple(reversed(names[value][level - 1 :])) for value in set(whole)}
            children = [extra(child) for child in below if child[:-1] == node]
            over = sum((surplus for surplus in children if surplus > 0), Fraction(0))
            under = -sum((surplus for surplus in children if surplus < 0), Fraction(0))
            work += Fraction(level, highest) * min(over, under)
    return work


def t_closeness(records, whole, t, distance, names=None):
    """Li et al. (2007): the distance of each class from the whole is at most t."""
    measures = {"equal": equal_distance, "ordered": ordered_distance}
    found = {}
    for key, values in by_class(records).items():
        moved = (
            hierarchical_distance(values, whole, names)
            if distance == "hierarchical"
            else measures[distance](values, whole)
        )
        found[key] = moved <= Fraction(t) + NEAR
    return found


def k_map(records, people, k):
    """Sweeney (2001): each class matches k people."""
    return {key: people.count(key) >= k for key in by_class(records)}


def delta_presence(records, people, lower, upper):
    """Nergiz et al. (2007): for everybody, records over people of the class are within bounds; suppressed is absent."""
    classes = by_class(records)
    found = {}
    for key, values in classes.items():
        n_people = people.count(key)
        found[key] = (
            n_people > 0 and Fraction(lower) - NEAR <= Fraction(len(values), n_people) <= Fraction(upper) + NEAR
        )
    everybody_may_be_there = all(found.get(key, False) for key in people) and all(found.values())
    return found if lower == 0 or everybody_may_be_there else dict.fromkeys(found, False)


def poisson_class(k, n_records, n_people, significance):
    """El Emam and Dankar (2008): least count from 2 to k that a Poisson variable reaches so rarely, by its sum."""
    mean = Decimal(k) * n_records / n_people
    below, term = Decimal(0), (-mean).exp()
    for count in range(k):
        if count >= 2 and 1 - below <= Decimal(significance):
            return count
        below += term
        term = term * mean / (count + 1)
    return k


def average_risk(sizes):
    """Mean over records of 1 / (records of the class)."""
    return sum((Fraction(1, size) for size in sizes for _ in range(size)), Fraction(0)) / sum(sizes)


def unique_share(sizes):
    """Share of records that are alone in their class."""
    return Fraction(sum(size == 1 for size in sizes), sum(sizes))


def n_to_suppress(sizes, holds):
    """Least number of smallest classes whose suppression makes a rule hold on what is left, by trying each."""
    sizes = sorted(sizes)
    return next(n for n in range(len(sizes) + 1) if n == len(sizes) or holds(sizes[n:]))


def zayatz(sizes, n_people):
    """Zayatz (1991): Bayes' rule with hypergeometric chances, times the share of sample uniques."""
    n_records, n_classes = sum(sizes), Counter(sizes)

    def chance(size):
        """Probability that one of so many people is in the sample, and no other."""
        return Fraction(size * comb(n_people - size, n_records - 1), comb(n_people, n_records))

    of_unique = n_classes[1] * chance(1) / sum(number * chance(size) for size, number in n_classes.items())
    return of_unique * Fraction(n_classes[1], n_records)


def pitman_likelihood(sizes, a, t):
    """Logarithm of Pitman's sampling formula, as far as it depends on its parameters."""
    a, t = Decimal(a), Decimal(t)
    total = sum(((t + i * a).ln() for i in range(1, len(sizes))), Decimal(0))
    total -= sum(((t + i).ln() for i in range(1, sum(sizes))), Decimal(0))
    return total + sum(((i - a).ln() for size in sizes for i in range(1, size)), Decimal(0))


def pitman_uniques(a, t, n_people):
    """Expected share of uniques among so many people: each is new, and nobody joins, factor by factor."""
    a, t = Decimal(a), Decimal(t)
    product = Decimal(1)
    for earlier, later in pairwise(range(n_people)):
        product *= (t + a + earlier) / (t + later)
    return product


def slide_negative_binomial(a, p, size):
    """Probability of a class of so many people: one, and a negative binomial number of others."""
    a, p = Decimal(a), Decimal(p)
    chance = p**a
    for other in range(1, size):
        chance *= (a + other - 1) / other * (1 - p)
    return chance


def sampled(a, p, fraction, size, largest):
    """Probability that so many of a class's people are in the sample, each with the same probability."""
    f = Decimal(fraction)
    return sum(
        slide_negative_binomial(a, p, people) * comb(people, size) * f**size * (1 - f) ** (people - size)
        for people in range(max(size, 1), largest + 1)
    )


def shlosser(sizes, n_people):
    """Haas and Stokes (1998): Shlosser's estimator of the number of classes, modified."""
    f = Fraction(sum(sizes), n_people)
    s = Counter(sizes)
    first = sum(i * f**2 * (1 - f**2) ** (i - 1) * n for i, n in s.items())
    first /= sum((1 - f) ** i * ((1 + f) ** i - 1) * n for i, n in s.items())
    second = sum((1 - f) ** i * n for i, n in s.items()) / sum(i * f * (1 - f) ** (i - 1) * n for i, n in s.items())
    return len(sizes) + s[1] * first * second**2
