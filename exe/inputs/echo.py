"""Does a call return an argument as it came? Decided with types: a tuple is no echo of a list."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping

from exe.inputs.decode import source
from exe.inputs.schema import Signature
from exe.records import Json, Outcome
from exe.values import Unrepresentable, encode


def echoes(signature: Signature, arguments: Mapping[str, Json], outcome: Outcome) -> bool:
    """Whether the value returned equals one of the arguments in value and type.

    Where an argument is no literal (a date, an enum member), its JSON form is compared with the plain value.
    """
    if outcome.status != "value" or outcome.typed is None or outcome.plain is None:
        return False
    returned, plain = outcome.typed["value"], outcome.plain["value"]
    for parameter in signature.parameters:
        if parameter.name not in arguments or parameter.kind in ("args", "kwargs"):
            continue
        value = arguments[parameter.name]
        text = source(parameter.type, value, signature.names)
        try:
            form = encode(ast.literal_eval(text))[1]
        except (ValueError, SyntaxError, Unrepresentable):
            if isinstance(returned, dict) and _same(value, plain):
                return True
            continue
        if _same(form, returned):
            return True
    return False


def _same(left: Json, right: Json) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
