"""Analyses that researchers will run on a release, each as a model and a formula.

A formula is checked before a library sees it: names of columns, numbers, operators and a few functions, so that a job
from elsewhere runs no code.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cloister.errors import InputError, did_you_mean
from cloister.settings.constraints import Described

REGRESSIONS, BY_GROUP = ("linear", "logistic", "poisson", "cox"), ("kaplan-meier", "table")
MODELS = (*REGRESSIONS, *BY_GROUP)
OF_TIME = ("cox", "kaplan-meier")
FUNCTIONS = ("C", "log", "log2", "log10", "exp", "poly", "bs", "center", "scale")
SURVIVAL = re.compile(r"Surv\(\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)")
TOKEN = re.compile(r"\s*(?:(?P<name>`[^`]+`|[^\W\d][\w.]*)|(?P<other>[0-9]+(?:\.[0-9]+)?|\*\*|[-+*:(),=]))")
FORMULA = Described("OUTCOME ~ COLUMN + COLUMN, where the outcome of cox and kaplan-meier is Surv(TIME, EVENT)")


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """An analysis that researchers will run on a release.

    Parameters
    ----------
    model : ``linear``, ``logistic``, ``poisson``, ``cox``; ``kaplan-meier``, the survival of each group at the
        quartiles of the original's times; ``table``, the shares of an outcome's values in each group
    formula : as in R, ``outcome ~ age + sex``, or ``Surv(days, died) ~ age + sex``; operators ``+ - * :``, functions
        C, log, log2, log10, exp, poly, bs, center and scale. Names with other signs are written in backticks
    name : a short name for the results; the formula if empty

    Examples
    --------
    >>> Analysis(model="cox", formula="Surv(days, died) ~ age + C(stage)").columns
    ('days', 'died', 'age', 'stage')
    """

    model: str
    formula: str
    name: str = ""

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise InputError(f"There is no model {self.model!r}. Models: {', '.join(MODELS)}.")
        outcome, tilde, rest = self.formula.partition("~")
        time = SURVIVAL.fullmatch(outcome.strip())
        if not tilde or not rest.strip() or (time is None) == (self.model in OF_TIME):
            left = "Surv(TIME, EVENT)" if self.model in OF_TIME else "OUTCOME"
            raise InputError(f"The formula of a {self.model} analysis is {left} ~ COLUMN + COLUMN.")
        if self.model in BY_GROUP and re.search(r"[-*:()]", rest):
            raise InputError(f"The groups of a {self.model} analysis are those of columns: ~ COLUMN + COLUMN.")
        object.__setattr__(self, "name", self.name or self.formula.strip())
        self.columns  # noqa: B018  (checks the formula)

    @classmethod
    def parse(cls, text: str) -> "Analysis":
        """Parse ``MODEL: FORMULA``.

        Examples
        --------
        >>> Analysis.parse("logistic: died ~ age + sex").model
        'logistic'
        """
        model, colon, formula = text.partition(":")
        if not colon:
            raise InputError('An analysis is MODEL: FORMULA, as "logistic: died ~ age + sex".')
        return cls(model=model.strip(), formula=formula)

    def check(self, columns: Sequence[str]) -> None:
        """Reject names that are no columns."""
        for name in self.columns:
            if name not in columns:
                raise InputError(
                    f"The analysis {self.name!r} names the column {name!r}, which is not in the original or is not "
                    f"released.{did_you_mean(name, columns)}",
                    column=name,
                )

    @cached_property
    def outcome(self) -> tuple[str, ...]:
        """The column of the outcome, or those of time and event."""
        left = self.formula.partition("~")[0].strip()
        found = SURVIVAL.fullmatch(left)
        return tuple(name.strip().strip("`") for name in ((left,) if found is None else found.groups()))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that the formula names, in their order."""
        rest = [token for token, is_name in self._tokens if is_name]
        return tuple(dict.fromkeys([*self.outcome, *(name.strip("`") for name in rest)]))

    @cached_property
    def right(self) -> str:
        """What is right of the tilde, as formulaic reads it."""
        dotted = (is_name and "." in token and token[0] != "`" for token, is_name in self._tokens)
        return "".join(f"`{token}`" if dot else token for dot, (token, _) in zip(dotted, self._tokens, strict=True))

    @cached_property
    def _tokens(self) -> tuple[tuple[str, bool], ...]:
        """The tokens of the right side, and whether each is a column."""
        text, at, found = self.formula.partition("~")[2].rstrip(), 0, []
        while at < len(text):
            token = TOKEN.match(text, at)
            if token is None:
                raise InputError(
                    f"The formula of {self.name!r} has a sign that is none of + - * : ( ) after {text[:at].strip()!r}. "
                    "Put names with other signs in backticks."
                )
            name, at = token["name"], token.end()
            calls = name is not None and text[at:].lstrip().startswith("(")
            if calls and name not in FUNCTIONS:
                raise InputError(f"The formula of {self.name!r} calls {name}. Functions: {', '.join(FUNCTIONS)}.")
            is_argument = name is not None and text[at:].lstrip().startswith("=")
            found.append((token[0].strip(), name is not None and not calls and not is_argument))
        return tuple(found)
