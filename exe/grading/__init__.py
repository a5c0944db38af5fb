"""Text to Answer; Answer and Case to Grade. Pure."""
