"""What rules say of the population table that they compare with."""

from typing import Any

from cloister.errors import InputError

from .parameters import name_of


def checked_name(population: Any, name: str | None, model: str) -> str:
    """Return the name under which a population table is shown; one that is given without a name is ``population``.

    Raises
    ------
    InputError
        There is neither a table nor the name of one.
    """
    if population is None and name is None:
        raise InputError(f"{model} needs a population: a table of all people that the patients may be among.")
    return name_of("The population", "population" if name is None else name)
