"""One seed per run and one sub-seed per consumer, so that adding a consumer does not affect the others."""

import hashlib
import secrets


def sub_seed(seed: int, name: str) -> int:
    """Derive a 63-bit seed for the consumer `name` from the run's seed.

    >>> sub_seed(13, "split") == sub_seed(13, "split") != sub_seed(13, "dropout")
    True
    """
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def drawn_seed() -> int:
    """Return a random seed for a run without one; the caller prints and stores it."""
    return secrets.randbelow(2**31)


def pair_number(head_id: str, tail_id: str, seed: int) -> int:
    """Return a pseudo-random number below 2**64 that depends only on the pair and the seed."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\t{head_id}\t{tail_id}".encode(), digest_size=8).digest())
