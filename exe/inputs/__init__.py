"""Types to JSON Schema and back; inputs from generators; de-duplication."""
