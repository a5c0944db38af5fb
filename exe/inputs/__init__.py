"""Types → JSON Schema, decoding, strategies; the offline generator; the seven validators; de-duplication.

The public calls: `arguments_schema` and `read_schema`, `call_text` and `canonical_key`, `bind_names`, `generate`,
`validators.feedback` and `validators.final`. jsonschema is imported only when first needed.
"""

from exe.inputs.decode import ArgumentError, call_text, canonical_key
from exe.inputs.generate import Generated, generate
from exe.inputs.names import bind_names, candidate_types, required_imports, required_names
from exe.inputs.schema import Signature, arguments_schema, plain_schema, read_schema
from exe.inputs.validators import VALIDATORS, Trial, conformity, feedback, final

__all__ = [
    "VALIDATORS",
    "ArgumentError",
    "Generated",
    "Signature",
    "Trial",
    "arguments_schema",
    "bind_names",
    "call_text",
    "candidate_types",
    "canonical_key",
    "conformity",
    "feedback",
    "final",
    "generate",
    "plain_schema",
    "read_schema",
    "required_imports",
    "required_names",
]
