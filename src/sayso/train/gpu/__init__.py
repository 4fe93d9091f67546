"""Captured training steps on a GPU: recorded once, replayed for every batch. `captured` is the entry point."""
