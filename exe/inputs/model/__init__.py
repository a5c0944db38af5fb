"""A language model proposes inputs: prompt, reading of what it says, the loop of proposals and feedback, the record of all answers."""

from exe.inputs.model.journal import Journal, Spent
from exe.inputs.model.prompt import PROMPT_VERSION
from exe.inputs.model.propose import Ask, propose

__all__ = ["PROMPT_VERSION", "Ask", "Journal", "Spent", "propose"]
