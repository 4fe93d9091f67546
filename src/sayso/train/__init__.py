"""Config and store to a trained model in a run folder."""
