"""The rules json and typed: a walk over truth and answer together, without recursion along lists and dicts."""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from exe.values.decoding import Opaque
from exe.values.forms import ITEMS, KEYS, VALUES
from exe.values.keys import bucket, object_keys, written_key
from exe.values.match_scalars import SCALARS, same_float, same_int, same_text
from exe.values.pairing import Budget, pair_off
from exe.values.text import loads

JSON, TYPED = "json", "typed"

_VIEWS = (KEYS, VALUES, ITEMS)
_SEQUENCES = (list, tuple, deque, range, *_VIEWS)
_SETS = (set, frozenset)
_MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
Work = list[tuple[Any, Any]]


class Matcher:
    """One comparison under one rule."""

    def __init__(self, rule: str, budget: Budget | None = None) -> None:
        self.typed = rule == TYPED
        self.budget = budget or Budget()

    def same(self, truth: Any, answer: Any) -> bool:
        """Tell whether `answer` is `truth`."""
        work: Work = [(truth, answer)]
        while work:
            one, other = work.pop()
            if not self._step(one, other, work):
                return False
        return True

    def _step(self, truth: Any, answer: Any, work: Work) -> bool:
        """Compare one node; push what is below it. False ends the comparison."""
        cls = type(truth)
        if truth is None or cls is bool:
            return truth is answer
        if cls is str:
            return same_text(truth, answer, typed=self.typed)
        if cls is int:
            return same_int(truth, answer, typed=self.typed)
        if cls is float:
            return same_float(truth, answer, typed=self.typed)
        if cls is Opaque:
            return self._opaque(truth, answer, work)
        if cls in _SEQUENCES:
            return self._sequence(truth, answer, work)
        if cls in _SETS:
            return self._set(truth, answer)
        if cls in _MAPPINGS:
            return self._mapping(truth, answer, work)
        scalar = SCALARS.get(cls)
        if scalar is not None:
            return scalar(truth, answer, self.typed)
        return self._wrapped(truth, answer, work)

    def _wrapped(self, truth: Any, answer: Any, work: Work) -> bool:
        cls = type(truth)
        if self.typed and type(answer) is not cls:
            return False
        if cls is ChainMap:
            if self.typed:
                work.append((truth.maps, answer.maps))
                return True
            work.append((dict(truth), dict(answer) if type(answer) is ChainMap else answer))
        elif cls is MappingProxyType:
            work.append((truth.copy(), answer.copy() if type(answer) is cls else answer))
        elif cls in (UserDict, UserList, UserString):
            work.append((truth.data, answer.data if type(answer) is cls else answer))
        elif cls is slice:
            parts = answer
            if type(answer) is slice:
                parts = {"start": answer.start, "stop": answer.stop, "step": answer.step}
            work.append(({"start": truth.start, "stop": truth.stop, "step": truth.step}, parts))
        else:  # array
            if type(answer) is cls:
                return bool(truth.typecode == answer.typecode) and self._sequence(truth.tolist(), answer.tolist(), work)
            work.append((truth.tolist(), answer))
        return True

    def _opaque(self, truth: Opaque, answer: Any, work: Work) -> bool:
        if type(answer) is Opaque:
            if (truth.kind, truth.name, truth.member) != (answer.kind, answer.name, answer.member):
                return False
            work.append((truth.fields, answer.fields))
            work.append((truth.value, answer.value))
            return True
        if truth.kind in ("enum", "subclass"):
            work.append((truth.value, answer))
            return True
        shown = {name: item for name, item in truth.fields.items() if name != "@attributes"}
        if truth.kind == "namedtuple" and not self.typed and type(answer) in (list, tuple):
            work.append((list(shown.values()), answer))
        else:
            work.append((shown, answer))
        return True

    def _sequence(self, truth: Any, answer: Any, work: Work) -> bool:
        if self.typed:
            if type(answer) is not type(truth) and not (type(truth) in _VIEWS and type(answer) is list):
                return False
            if type(truth) is deque and truth.maxlen != answer.maxlen:
                return False
            if type(truth) is range and answer != truth:
                return False
        elif type(answer) not in _SEQUENCES:
            return False
        if len(truth) != len(answer):
            return False
        work.extend(zip(truth, answer, strict=True))
        return True

    def _set(self, truth: Any, answer: Any) -> bool:
        if self.typed and type(answer) is not type(truth):
            return False
        if type(answer) not in _SETS and type(answer) not in _SEQUENCES:
            return False
        if len(truth) != len(answer):
            return False
        return pair_off(list(truth), list(answer), bucket, self._again, self.budget)

    def _again(self, truth: Any, answer: Any) -> bool:
        return Matcher(TYPED if self.typed else JSON, self.budget).same(truth, answer)

    def _mapping(self, truth: Mapping[Any, Any], answer: Any, work: Work) -> bool:
        if self.typed:
            return self._typed_mapping(truth, answer, work)
        names = object_keys(truth)
        if type(answer) in (MappingProxyType, UserDict, ChainMap):
            answer = dict(answer)
        if type(answer) in _MAPPINGS:
            pairs = list(answer.items())
        elif names is None and type(answer) in (list, tuple):
            if not all(type(pair) in (list, tuple) and len(pair) == 2 for pair in answer):
                return False
            pairs = list(answer)
        else:
            return False
        if len(pairs) != len(truth):
            return False
        if names is not None:
            written = {written_key(key): item for key, item in pairs}
            if len(written) == len(names) and written.keys() == names.keys():
                work.extend((names[name], written[name]) for name in names)
                return True
            return pair_off(list(truth.items()), pairs, _pair_bucket, self._same_named_pair, self.budget)
        return pair_off(list(truth.items()), pairs, _pair_bucket, self._same_pair, self.budget)

    def _typed_mapping(self, truth: Any, answer: Any, work: Work) -> bool:
        if type(answer) is not type(truth) or len(answer) != len(truth):
            return False
        if isinstance(truth, defaultdict) and truth.default_factory is not answer.default_factory:
            return False
        if type(truth) is OrderedDict:
            work.extend(zip(truth.values(), answer.values(), strict=True))
            work.extend(zip(truth.keys(), answer.keys(), strict=True))
            return True
        if all(type(key) is str for key in truth) and all(type(key) is str for key in answer):
            if truth.keys() != answer.keys():
                return False
            work.extend((item, answer[key]) for key, item in truth.items())
            return True
        return pair_off(list(truth.items()), list(answer.items()), _pair_bucket, self._same_pair, self.budget)

    def _same_pair(self, truth: Any, answer: Any) -> bool:
        return self._again(truth[0], answer[0]) and self._again(truth[1], answer[1])

    def _same_named_pair(self, truth: Any, answer: Any) -> bool:
        """Compare a pair whose answered key may be the JSON text of the true one, in any spelling of its value."""
        key, answered = truth[0], answer[0]
        if not self._again(key, answered) and written_key(key) != written_key(answered):
            if type(answered) is not str or type(key) is str or len(answered) > 1000:
                return False
            try:
                read = loads(answered)
            except ValueError:
                return False
            if type(read) not in (int, float) or not self._again(key, read):
                return False
        return self._again(truth[1], answer[1])


def _pair_bucket(pair: Any) -> str | None:
    return bucket(pair[0])
