"""The static screen: which functions are worth a look (`why_not`), which programs are pure (`purity`).

Both are explicit tuples of small rules. A rule names itself, says why it is there, and carries one example that it drops
and one that it keeps; the tests run those. Names are decided as resolved, never as text; the names themselves are data
in `exe/data/blocklists.toml` (the paper's four block lists). What no name shows is left to the audited sandbox run.
"""

from __future__ import annotations

from .finding import Finding
from .functions import RULES, Place, Rule, why_not, why_not_function
from .programs import PURITY, PurityRule, findings, mutated_globals, purity
from .traps import Suspect, Untrappable, armed

__all__ = [
    "PURITY",
    "RULES",
    "Finding",
    "Place",
    "PurityRule",
    "Rule",
    "Suspect",
    "Untrappable",
    "armed",
    "findings",
    "mutated_globals",
    "purity",
    "why_not",
    "why_not_function",
]
