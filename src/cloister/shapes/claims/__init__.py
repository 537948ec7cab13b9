"""The shape "one patient row and many claim rows"."""
