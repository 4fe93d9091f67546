"""A store to the paper's tables, figures and claims: every variant trained with several seeds, side by side."""
