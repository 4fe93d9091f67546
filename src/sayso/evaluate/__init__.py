"""Models and stores to figures: what the tables and pages of results are made from."""
