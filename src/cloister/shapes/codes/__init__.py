"""The shape "one set of codes a patient": diagnoses, and what can be released of them."""
