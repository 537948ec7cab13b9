"""What whoever changes the code looks at: speed of searches and commands, sizes of the code, mutants."""
