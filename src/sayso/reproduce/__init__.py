"""Reproduces the paper on a store: trains every variant with several seeds and makes tables, figures and claims."""
