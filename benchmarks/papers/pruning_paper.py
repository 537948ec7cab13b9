"""Figures that the paper prints, to be shown beside ours.

Prasser, Kohlmayer, Kuhn (2016), BMC Medical Informatics and Decision Making 16:49, Tables 1 to 5. SS13ACS is the
paper's table of fifteen columns; adult and fars are the tables that we have as well.
"""

STORES = {
    "adult": (0.247, 0.230, 0.061, 0.055),
    "fars": (0.364, 0.240, 0.074, 0.071),
    "SS13ACS, 10 columns": (21.730, 15.032, 1.861, 1.797),
}
"""Table 1: seconds of list, list with antichain, tree with antichain, the same with ranks."""

PROPERTIES = {
    "adult": (1180, (1062, 0.7469, 0.7354), (887, 0.1537, 0.9301)),
    "fars": (1342, (1161, 0.7544, 0.6184), (752, 0.1081, 0.8843)),
}
"""Table 2: policies checked; inserts, share of hits and of the antichain for quality, and for protection."""

PREDICTION = {4: 0.0952, 5: 0.0571, 6: 0.0563, 7: 0.0262, 8: 0.0220, 9: 0.0768}
"""Table 3: share of the time that prediction saves BFS on SS13ACS by columns; the text says up to almost 0.2 beyond."""

BEST_FIRST = {
    3: (0.1250, 0.1739, 0.7500),
    4: (0.1042, 0.2087, 0.5556),
    5: (0.0618, 0.2284, 0.4412),
    6: (0.0410, 0.2513, 0.3607),
    7: (0.0346, 0.2806, 0.3185),
    8: (0.0211, 0.2999, 0.2465),
    9: (0.0332, 0.3426, 0.2216),
    10: (0.0340, 0.3680, 0.2278),
    11: (0.0232, 0.3770, 0.2043),
    12: (0.0183, 0.3836, 0.1884),
    13: (0.0211, 0.3874, 0.1959),
    14: (0.0166, 0.3915, 0.2075),
    15: (0.0144, 0.3931, 0.2017),
}
"""Table 4: shares of policies checked, of hits and of the antichain, BFS on SS13ACS by columns."""

HEURISTIC = {"adult": (0.0, 0.0192, 0.0769), "fars": (0.0, 0.0136, 0.0670)}
"""Table 5: least, average and most improvement of quality by BFS over IGreedy in equal time."""
