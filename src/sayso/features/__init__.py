"""Convert bags to batches: how mentions are represented, distances to mentions, and collation."""
