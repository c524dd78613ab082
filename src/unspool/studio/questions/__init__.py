"""Every question that the page can ask, and its answer.

The page asks over HTTP and the report asks beforehand; both ask here. An answer is plain values,
ready for JSON; studio/src/answers.ts in the source says what it holds. A user's mistake is a
ValueError that says how to mend it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unspool.studio.desk import Desk
from unspool.studio.params import UnknownQuestion
from unspool.studio.questions.cell import cell, race
from unspool.studio.questions.gradients import cliff, gradients, relu
from unspool.studio.questions.ranks import candidates, ranks
from unspool.studio.questions.run import run
from unspool.studio.questions.text import neighbours, text_read, trajectory, unit
from unspool.studio.questions.training import training
from unspool.studio.questions.translate import translate
from unspool.studio.questions.units import property_labels, units

QUESTIONS: dict[str, Callable[[Desk, dict[str, Any]], Any]] = {
    "run": run,
    "training": training,
    "translate": translate,
    "text": text_read,
    "unit": unit,
    "ranks": ranks,
    "candidates": candidates,
    "units": units,
    "property": property_labels,
    "neighbours": neighbours,
    "trajectory": trajectory,
    "gradients": gradients,
    "cliff": cliff,
    "relu": relu,
    "cell": cell,
    "race": race,
}


def ask(desk: Desk, question: str, params: dict[str, Any]) -> Any:
    if question not in QUESTIONS:
        raise UnknownQuestion(f"there is no question {question!r}; ask {', '.join(QUESTIONS)}")
    return QUESTIONS[question](desk, params)


@dataclass(frozen=True)
class Answers:
    """A desk that the server can ask."""

    desk: Desk

    def ask(self, question: str, params: dict[str, Any]) -> Any:
        return ask(self.desk, question, params)
