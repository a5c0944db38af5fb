"""Texts: fit for a parameter's name, constants of the code or several joined, what its patterns match, words, edges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from exe.inputs import lexicon, samples

if TYPE_CHECKING:
    from exe.inputs.strategies import Maker


def text(maker: Maker, name: str) -> str:
    """A text for a variable of this name."""
    hints = maker.hints
    hinted = maker.hinted_texts(name)
    tested = [value for value in hints.by_name.get(name, ()) if isinstance(value, str)]
    options = [_words, _words, _words, _edge, _letters, _phrase, *([_long] if maker.chance(10) else [])]
    options += [_hinted] * 4 if hinted else []
    options += [_tested] * 4 if tested else []
    options += [_constant, _constant, _pieces, *[_joined] * 3, _lines] if hints.strings else []
    options += [_read] if hints.texts_by_name else []
    options += [_json] * 2 if hints.keys and any("json" in words for words in hints.texts_by_name.values()) else []
    options += [_matching] * 6 if hints.patterns_by_name.get(name) else [_matching] if hints.patterns else []
    return maker.choose(options)(maker, name)


def _words(maker: Maker, _: str) -> str:
    return maker.choose(("a", "b", *lexicon.WORDS))


def _edge(maker: Maker, _: str) -> str:
    return maker.choose(lexicon.EDGES)


def _letters(maker: Maker, _: str) -> str:
    return "".join(maker.choose(samples.ALPHABET) for _ in range(maker.size()))


def _phrase(maker: Maker, _: str) -> str:
    joint = maker.choose((" ", "_", "-", ".", ", ", "/"))
    return joint.join(maker.choose(lexicon.WORDS) for _ in range(2 + maker.below(3)))


def _long(maker: Maker, name: str) -> str:
    return maker.choose((*maker.hinted_texts(name), *lexicon.WORDS)) * (5 + maker.below(20))


def _hinted(maker: Maker, name: str) -> str:
    return maker.choose(maker.hinted_texts(name))


def _tested(maker: Maker, name: str) -> str:
    """Constants that the parameter is tested against, bare, with more behind, or two of them."""
    tested = [value for value in maker.hints.by_name[name] if isinstance(value, str)]
    return maker.choose(tested) + maker.choose(("", "x", maker.choose(tested), " " + maker.choose(tested)))


def _constant(maker: Maker, _: str) -> str:
    return maker.choose(maker.hints.strings)


def _pieces(maker: Maker, _: str) -> str:
    """Short constants of the code among words, so that what it looks for is found inside."""
    short = [text for text in maker.hints.strings if len(text) <= 12] or lexicon.WORDS
    return "".join(maker.choose((*short, *lexicon.WORDS)) for _ in range(2 + maker.below(4)))


def _joined(maker: Maker, _: str) -> str:
    """Numbers or words with marks between them that the code looks for, each a character: `12-40/2`, `a:b`, `1,2`."""
    marks = [text for text in maker.hints.strings[:40] if len(text) == 1 and not text.isalnum()] or [",", "=", ":"]
    counted = any("number" in words for words in maker.hints.texts_by_name.values())
    made = maker.choose((_number, _number if counted else _word, _number if counted else _word, _word, _either))
    found = made(maker)
    for _mark in range(1 + maker.below(3)):
        found += maker.choose(marks) + made(maker)
    return found


def _number(maker: Maker) -> str:
    return str(maker.below(maker.choose((3, 10, 100, 1000))))


def _word(maker: Maker) -> str:
    known = [text for text in maker.hints.strings[:40] if len(text) > 1 and text.isalnum()]
    return maker.choose(known) if known and maker.chance(40) else maker.choose(("a", "b", "x", "ab", "item", "stone"))


def _either(maker: Maker) -> str:
    return maker.choose((_number, _word))(maker)


def _lines(maker: Maker, _: str) -> str:
    """Lines of numbers and words, or of names and values with a mark between them; at times behind a constant of the code."""
    names = maker.hints.keys or maker.hints.strings
    if maker.chance(35):
        lines = [_either(maker) for _ in range(1 + maker.below(4))]
    else:
        mark = maker.choose((": ", "=", ": ", " = ", " ", ":"))
        named = dict.fromkeys(maker.choose(names[:20]) for _ in range(1 + maker.below(6)))
        lines = [f"{name}{mark}{_either(maker)}" for name in named]
    first = [maker.choose(maker.hints.strings)] if maker.chance(20) else []
    return "\n".join([*first, *lines]) + maker.choose(("", "\n"))


def _read(maker: Maker, _: str) -> str:
    """A text of a form that something in the program is read as."""
    return maker.choose(lexicon.READ[maker.choose(maker.choose(list(maker.hints.texts_by_name.values())))])


def _json(maker: Maker, _: str) -> str:
    """A JSON object with keys that the code looks up."""
    keys = dict.fromkeys(maker.choose(maker.hints.keys) for _ in range(1 + maker.below(3)))
    return json.dumps({key: maker.anything(key, 1) for key in keys}, ensure_ascii=False)


def _matching(maker: Maker, name: str) -> str:
    """A text that a pattern matches, alone, among others or twice."""
    pattern = maker.choose(maker.hints.patterns_by_name.get(name) or maker.hints.patterns)
    once, again = (samples.matching(pattern, maker.below) or maker.choose(lexicon.WORDS) for _ in range(2))
    if pattern.endswith(("$", "\\Z")) or maker.chance(60):
        return once
    word = maker.choose(lexicon.WORDS)
    return maker.choose((f"{word} {once}", f"{once}{word}", f"{once}{again}", f"{once} {again} {word}"))
