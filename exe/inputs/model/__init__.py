"""A language model proposes inputs: prompt, reading of what it says, the loop of proposals and feedback, the record of all answers."""

from exe.inputs.model.budget import Budget, Caps
from exe.inputs.model.journal import Ask, Journal, Question, Spent
from exe.inputs.model.prompt import PROMPT_VERSION
from exe.inputs.model.propose import propose

__all__ = ["PROMPT_VERSION", "Ask", "Budget", "Caps", "Journal", "Question", "Spent", "propose"]
