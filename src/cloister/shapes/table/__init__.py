"""Tables: one row a patient, quasi-identifiers generalized to one level each, violating records suppressed."""
