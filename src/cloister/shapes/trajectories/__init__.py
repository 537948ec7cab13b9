"""The shape "one sequence of (code, age) pairs a patient": forms, methods, losses, queries."""
