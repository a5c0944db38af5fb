"""Python value ⇄ OData JSON ⇄ Python literal; sameness; text that cannot be stable."""
