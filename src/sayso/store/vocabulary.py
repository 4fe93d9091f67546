"""Words, entities, relations and documents as numbers, handed out in the order in which they appear."""

from collections.abc import Iterable

UNKNOWN_WORD = "<unknown>"


class Numbering(dict[str, int]):
    """A dict that gives every new key the next number.

    >>> numbers = Numbering(["a"])
    >>> [numbers["b"], numbers["a"], numbers["b"]]
    [1, 0, 1]
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        super().__init__((key, number) for number, key in enumerate(keys))

    def __missing__(self, key: str) -> int:
        number = self[key] = len(self)
        return number


class ClosedNumbering(Numbering):
    """A numbering to which nothing is added: what it does not hold is number 0.

    >>> numbers = ClosedNumbering(["<unknown>", "a"])
    >>> [numbers["b"], numbers["a"], len(numbers)]
    [0, 1, 2]
    """

    def __missing__(self, key: str) -> int:
        """Return the number of the unknown."""
        del key
        return 0


class Vocabulary:
    """The numberings that all parts of one store share; word 0 is the unknown word."""

    def __init__(self, relations: Iterable[str] = ()) -> None:
        self.words = Numbering([UNKNOWN_WORD])
        self.entities = Numbering()
        self.relations = Numbering(relations)
        self.documents = Numbering()
        self.entity_name: dict[int, str] = {}
