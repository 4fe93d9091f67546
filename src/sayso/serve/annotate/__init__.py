"""Annotate: mark the sentences of one fact at a time."""
