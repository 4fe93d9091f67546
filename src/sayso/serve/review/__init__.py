"""Review: extracted facts as a table, one fact with its quotes, and the decisions on them."""
