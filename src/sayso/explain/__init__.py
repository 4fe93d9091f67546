"""An extractor and bags to one score per sentence and relation: one file per mechanism."""
