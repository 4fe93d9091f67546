"""Train a model on a store and write it to a run folder."""
