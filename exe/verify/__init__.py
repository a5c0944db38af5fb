"""The fidelity oracle: does each program do what the function that it was made from does?

For every case the function of the origin package, at its pinned version, is called beside the program, behind the same
walls, and both outcomes are compared: the value in its typed form, the exception's class and message, and the arguments as
the call left them.
"""

from exe.verify.constructs import CONSTRUCTS, constructs
from exe.verify.drop import without_unfaithful
from exe.verify.findings import CaseCheck, Figures, FunctionCheck, Report
from exe.verify.oracle import Bench, verify
from exe.verify.originals import Original, Unavailable, originals

__all__ = [
    "CONSTRUCTS",
    "Bench",
    "CaseCheck",
    "Figures",
    "FunctionCheck",
    "Original",
    "Report",
    "Unavailable",
    "constructs",
    "originals",
    "verify",
    "without_unfaithful",
]
