"""The paper reproduced on a store: every variant trained with several seeds, and its tables, figures and claims."""
