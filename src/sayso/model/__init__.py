"""The model, from batches of bags to relation logits: `extractor` is the forward pass, the rest are its components."""
