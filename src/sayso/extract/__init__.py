"""Extracts facts from a corpus of any size, with the sentences that each prediction rests on.

`run.extract` runs all stages: `gather` sorts sentences into shards by pair, `shard` predicts and explains the bags of
a shard with `predict`, `run.Extraction` merges the facts of all shards and compares them with a knowledge base, and
`forms` writes the output files. Every stage writes complete files, so a killed run resumes where it stopped.
"""
