"""The same model written the obvious way, to measure against: `padded` and `no_padding`."""
