"""What this package raises."""


class TidingsError(ValueError):
    """Base of all of ours."""


class OutOfRange(TidingsError):
    """A number is where none may be."""

    def __init__(self, number: int, low: int, high: int) -> None:
        super().__init__(f"{number} is not between {low} and {high}")
        self.number = number
