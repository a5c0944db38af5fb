"""Record ⇄ JSON line, strict; files written whole or not at all; JSON Schemas.

A record's JSON object has its fields in the declared order. A field without a default must be there when it is read;
one that the record does not have is refused. Only a case leaves out what does not apply to it.
"""

from __future__ import annotations

from exe.codec.convert import from_json, to_json
from exe.codec.files import (
    append_line,
    atomic_write,
    drop_torn_line,
    dump_line,
    open_append,
    read_json,
    read_json_lines,
    read_jsonl,
    write_jsonl,
)
from exe.codec.ids import content_id
from exe.codec.schemas import SCHEMAS, schema, schema_errors
from exe.values import canonical

__all__ = [
    "SCHEMAS",
    "append_line",
    "atomic_write",
    "canonical",
    "content_id",
    "drop_torn_line",
    "dump_line",
    "from_json",
    "open_append",
    "read_json",
    "read_json_lines",
    "read_jsonl",
    "schema",
    "schema_errors",
    "to_json",
    "write_jsonl",
]
