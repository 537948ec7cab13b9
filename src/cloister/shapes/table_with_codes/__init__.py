"""The shape "one row a patient, one of whose columns is a set of codes": (k, k^m)-anonymity."""
