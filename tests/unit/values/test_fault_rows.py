"""The known faults of other benchmarks' encoders and scorers, one test each, named by the id of its row."""

from __future__ import annotations

import collections
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from exe.values import (
    LiteralError,
    Unrepresentable,
    decode,
    dumps,
    encode,
    encode_error,
    loads,
    read_literal,
    same_exception,
    same_json,
    same_python,
    same_typed,
    unstable_text,
)


def through_file(value: Any) -> Any:
    """Encode, write as a line, read, decode."""
    plain, typed = encode(value)
    for tree in (plain, typed):
        assert loads(dumps(tree)) == tree
    return decode(loads(dumps(typed)))


def verdicts(truth: Any, answer: Any) -> tuple[bool, bool, bool]:
    """Return the rules json, typed and python."""
    typed = encode(truth)[1]
    return same_json(typed, answer), same_typed(typed, answer), same_python(typed, answer)


def test_encode_int_and_str_keys() -> None:
    value = {1: "one", "1": "text"}
    assert through_file(value) == value
    assert encode(value)[0] == [["1", "text"], [1, "one"]]


def test_encode_mixed_key_sort() -> None:
    value = {3: 0, "4": 1, None: 2}
    assert list(through_file(value).items()) == list(value.items())
    assert encode(value)[0] == {"3": 0, "4": 1, "null": 2}


def test_encode_bytes() -> None:
    assert through_file(b"09:00") == b"09:00"


def test_encode_nan_strict_json() -> None:
    value = [math.nan, -math.inf, math.inf]
    assert repr(through_file(value)) == repr(value)
    for tree in encode(value):
        assert json.loads(dumps(tree), parse_constant=pytest.fail) == tree


def test_encode_neg_zero() -> None:
    assert repr(through_file(0.0 * -3)) == "-0.0"
    assert dumps(encode(-0.0)[0]) == "-0.0"


def test_encode_bigint_exact() -> None:
    assert through_file([2**64 + 3, -(10**4999)]) == [2**64 + 3, -(10**4999)]


def test_encode_exception_address() -> None:
    class Thing: ...

    plain, _ = encode_error(ValueError(Thing()))
    assert plain["error"]["code"] == "ValueError"
    # The row allows a masked or a dropped message; the design does neither: such text makes the case unfit.
    assert unstable_text(plain) is not None


def test_encode_address_lookalike() -> None:
    text = f"offset at 0x{16:x}"
    assert through_file(text) == text
    assert unstable_text(text) is None


def test_encode_generator() -> None:
    # The row excludes generators; the design drains them to a bounded list.
    def squares(n: int) -> Any:
        yield from (i * i for i in range(n))

    assert encode(squares(4))[0] == [0, 1, 4, 9]
    assert through_file(squares(2)) == [0, 1]


def test_encode_shared_and_cyclic() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    with pytest.raises(Unrepresentable, match="cyclic"):
        encode(loop)
    part: list[int] = [1]
    back = through_file([part, part])
    assert back[0] is back[1]


def test_score_tuple_vs_list() -> None:
    assert verdicts((5, 6), [5, 6]) == (True, False, False)
    assert verdicts([(5, (6,))], [[5, [6]]]) == (True, False, False)


def test_score_int_vs_float() -> None:
    assert verdicts(196.0, 196) == (True, False, True)


def test_score_negative_zero() -> None:
    assert verdicts(-0.0, 0.0) == (True, False, True)


def test_score_nan_self() -> None:
    # The row gives == and a nan-aware rule; the design's rules are all nan-aware.
    assert verdicts([math.nan, 7], [float("nan"), 7]) == (True, True, True)


def test_score_inf_minus_inf() -> None:
    assert verdicts(-math.inf, read_literal("-1e400")) == (True, True, True)
    assert verdicts(-math.inf, math.inf) == (False, False, False)


def test_score_or_expression() -> None:
    with pytest.raises(LiteralError):
        read_literal("5 or 8")


def test_score_or_list_expression() -> None:
    with pytest.raises(LiteralError):
        read_literal("[3, 4] or [4, 3]")


def test_score_unparenthesised_tuple() -> None:
    assert verdicts((("x", 1), ("y", 2)), read_literal("('x', 1), ('y', 2)")) == (True, True, True)


def test_score_dict_order() -> None:
    assert verdicts({9: "i", 7: "g"}, read_literal("{ 7: 'g', 9: 'i' }")) == (True, True, True)


def test_score_str_keys_vs_int_keys() -> None:
    assert verdicts({4: "d", 5: "e"}, read_literal("{'4': 'd', '5': 'e'}")) == (True, False, False)


def test_score_counter_vs_dict() -> None:
    assert verdicts(collections.Counter("zz"), {"z": 2}) == (True, False, True)
    assert verdicts(collections.Counter("zz"), read_literal("Counter({'z': 2})")) == (True, True, True)


def test_score_exception_type_and_message() -> None:
    def deep() -> int:
        return deep()

    with pytest.raises(RecursionError) as caught:
        deep()
    code = encode_error(caught.value)[0]["error"]["code"]
    assert same_exception(code, "RecursionError")
    assert not same_exception(code, "RecursionError: maximum recursion depth exceeded")


def test_score_error_for_empty_expected() -> None:
    with pytest.raises(LiteralError):
        read_literal("")
    assert verdicts("", None) == (False, False, False)


def test_score_null_string_vs_null() -> None:
    truth = [None, "me@here", "example.org", False]
    assert verdicts(truth, ["null", "me@here", "example.org", False]) == (False, False, False)
    assert verdicts(truth, truth) == (True, True, True)


def test_every_row_has_its_test() -> None:
    folder = Path(os.environ.get("EXE_SHARED_DATA") or Path(__file__).parents[4] / "shared" / "data")
    if not (folder / "fault_cases.jsonl").exists():
        pytest.skip("the table of fault cases is not beside this repository (EXE_SHARED_DATA names its folder)")
    rows = [json.loads(line) for line in (folder / "fault_cases.jsonl").read_text("utf-8").splitlines()]
    wanted = {re.sub(r"\W", "_", row["id"]) for row in rows if row["stage"] in ("encode", "score")}
    assert wanted
    assert {name for name in wanted if f"test_{name}" not in globals()} == set()
