"""Found: the facts of an extraction as a table, one fact with its quotes, and what people decide about them."""
