"""Review: extracted facts as a table, one fact with its quotes, and people's decisions on them."""
