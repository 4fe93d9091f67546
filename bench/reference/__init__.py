"""Straightforward implementations of the same model, to compare with: `padded` and `no_padding`."""
