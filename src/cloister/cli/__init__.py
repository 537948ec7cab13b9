"""The command line: one file per verb; each parses options, calls one library function, and prints the result."""
