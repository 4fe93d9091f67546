"""Words, entities, relations and documents as numbers, handed out in the order in which they appear."""

import zlib
from collections.abc import Iterable

UNKNOWN_WORD = "<unknown>"
_MOST = 2**31
"""Numbers are kept in 32 bits, with a sign."""


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
    """A numbering to which nothing is added: an unknown key gets a number beyond the others, by its checksum.

    So different sentences stay different, although a model reads all unknown words as one.

    >>> numbers = ClosedNumbering(["<unknown>", "a"])
    >>> numbers["a"], numbers["b"] == numbers["b"] > len(numbers), numbers["b"] == numbers["c"]
    (1, True, False)
    """

    def __missing__(self, key: str) -> int:
        return len(self) + zlib.crc32(key.encode("utf-8", "surrogatepass")) % (_MOST - len(self))


class Vocabulary:
    """The numberings that all parts of one store share; word 0 is the unknown word."""

    def __init__(self, relations: Iterable[str] = ()) -> None:
        self.words = Numbering([UNKNOWN_WORD])
        self.entities = Numbering()
        self.relations = Numbering(relations)
        self.documents = Numbering()
        self.entity_name: dict[int, str] = {}
