"""Batches of bags to relation logits: `extractor` is the forward path, the rest are its parts."""
