"""All commands, as Typer's documentation tool takes them: `make docs`."""

from cloister.cli.commands import command_tree

app = command_tree()
