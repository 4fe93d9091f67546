"""`Bag` to `BagBatch`: how mentions appear, how far tokens are from them, and what goes into a batch."""
