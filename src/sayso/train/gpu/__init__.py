"""Training steps that a GPU takes by itself: captured once, replayed for every batch; `captured` is the way in."""
