"""One seed per run, one sub-seed per consumer, so that adding a consumer does not change the others."""

import hashlib
import secrets


def sub_seed(seed: int, name: str) -> int:
    """Return the 63-bit seed of the consumer called `name` within the run seeded with `seed`.

    >>> sub_seed(13, "split") == sub_seed(13, "split") != sub_seed(13, "dropout")
    True
    """
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def drawn_seed() -> int:
    """Return a fresh seed for a run that was given none; the caller prints and stores it."""
    return secrets.randbelow(2**31)
