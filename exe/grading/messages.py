"""Exception messages in a normal form: what the paper's judge is told to disregard (A.7), as deterministic rules.

Two messages are the same when their normal forms are equal. The rules remove wording that depends on the interpreter's
version, hints, line numbers, directories of source files, quote style, letter case and white space. They never drop what
the program computed: numbers, names and data stay.
"""

from __future__ import annotations

import re

MAX_MESSAGE = 20_000  # characters; longer messages are compared exactly

_QUOTES = str.maketrans(dict.fromkeys('"`´‘’‚‛“”„‟«»', "'"))
_SPACE = re.compile(r"\s+")
_NOT_TEXT = re.compile(r"[+-]?\d[\w.+-]*|none|true|false|nan|inf", re.IGNORECASE)

_HINT = re.compile(
    r"[\s.,;:(]*\b(?:did you mean|perhaps you forgot|maybe you meant|perhaps you meant|did you forget)\b.*\Z", re.DOTALL
)
_PLACES = (
    (
        re.compile(
            r"(?:(?<=[\s'(])|^)(?:[a-z]:)?[\\/]?(?:[\w.+~@-]{1,100}[\\/]){1,40}(?=[\w.-]{1,100}\.(?:pyx?|pyc|so)\b)"
        ),
        "",
    ),
    (re.compile(r"(?<=\.py):\d+\b"), ""),
    (re.compile(r"[\s,]*\(?\bfile '[^'\n]{1,300}', line \d+\)?"), ""),
    (re.compile(r"\s*\(<?[\w .-]{1,60}>?(?:\.py)?, line \d+\)"), ""),
    (re.compile(r"\b(on |at |in )?line:? \d+\b"), "line"),
)
"""Where in the source: directories, `file.py:3`, `File "x.py", line 3`, `(<string>, line 3)`, `line 3`."""

_VERSIONS = (
    # 3.10 names functions in argument errors by their qualified name
    (re.compile(r"\b(?:\w+\.){1,10}(?=\w+\(\))"), ""),
    (re.compile(r"\b(?:\w+\.)?<locals>\.(?=\w+\(\))"), ""),
    # 3.11 words unbound names anew
    (
        re.compile(r"cannot access local variable '(\w+)' where it is not associated with a value"),
        r"local variable '\1' referenced before assignment",
    ),
    (
        re.compile(r"cannot access free variable '(\w+)' where it is not associated with a value in enclosing scope"),
        r"free variable '\1' referenced before assignment in enclosing scope",
    ),
    # 3.11 names the property without a setter
    (re.compile(r"property(?: '\w+')? of '\w+' object has no (?:setter|deleter)"), "can't set attribute"),
    (re.compile(r"can't (?:set|delete) attribute(?: '\w+')?\Z"), "can't set attribute"),
    # 3.12 calls the empty argument of max and min by another name
    (re.compile(r"\b(max|min)\(\) (?:iterable argument is empty|arg is an empty sequence)"), r"\1() of nothing"),
    # 3.14 words division, containers and keys anew
    (
        re.compile(r"(?:float |integer |decimal )?(?:division(?: or modulo)?|modulo|divmod\(\)) by zero"),
        "division by zero",
    ),
    (re.compile(r"argument of type '(\w+)' is not (?:a container or )?iterable"), r"'\1' is not iterable"),
    (re.compile(r"'(\w+)' object is not iterable"), r"'\1' is not iterable"),
    (
        re.compile(r"cannot use '[\w.]+' as a (?:dict key|set element) \(unhashable type: '([\w.]+)'\)"),
        r"unhashable type: '\1'",
    ),
    # 3.10 words the wanted and the given type of arguments anew
    (re.compile(r"an integer is required \(got type (\w+)\)"), r"'\1' object cannot be interpreted as an integer"),
    # the digit limit of int and str
    (
        re.compile(r"exceeds the limit (?:\(\d+ digits\) )?for integer string conversion.*\Z", re.DOTALL),
        "exceeds the limit",
    ),
    # "__main__.Color" was the enum's name in "is not a valid"
    (re.compile(r"is not a valid (?:\w+\.){1,10}(?=\w+\b)"), "is not a valid "),
)
"""(Pattern, replacement) on lower-case text with single quotes: one wording for what versions of CPython word differently."""


def same_message(expected: str, answered: str, code: str = "") -> bool:
    """Whether two messages of exceptions of class `code` say the same; lengths in characters, never raises."""
    if expected == answered:
        return True
    if len(expected) > MAX_MESSAGE or len(answered) > MAX_MESSAGE:
        return False
    return normal_message(expected, code) == normal_message(answered, code)


def normal_message(message: str, code: str = "") -> str:
    """The normal form of a message; a class name before it ("ValueError: …", bare or dotted) goes when it is `code`."""
    text = _SPACE.sub(" ", message.translate(_QUOTES)).strip().lower()
    name = code.rpartition(".")[2].lower()
    head, colon, tail = text.partition(":")
    if name and colon and head.strip().rpartition(".")[2] == name:
        text = tail.strip()
    text = _HINT.sub("", text)
    for pattern, replacement in (*_PLACES, *_VERSIONS):
        text = pattern.sub(replacement, text)
    text = _SPACE.sub(" ", text).strip().rstrip(".!").strip()
    inner = text[1:-1]
    if len(text) > 2 and text[0] == text[-1] == "'" and "'" not in inner and not _NOT_TEXT.fullmatch(inner):
        return inner
    return text
