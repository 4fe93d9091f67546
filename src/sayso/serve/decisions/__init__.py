"""Curate: facts accepted, rejected or sent back for evidence, and the files that a knowledge base takes."""
