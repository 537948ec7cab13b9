"""``python -m cloister``."""

from cloister.cli.main import main

main()
