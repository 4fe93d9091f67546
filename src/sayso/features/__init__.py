"""Convert bags to batches: the appearance of mentions, distances to them, and collation."""
