"""Reading code without running it: modules and imports, scopes, annotations, metrics."""
