"""Where packages come from: installed, path, PyPI, git; their licences."""
