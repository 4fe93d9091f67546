"""A corpus of any size to facts with the sentences that their predictions rest on.

`run.extract` is the whole way: `gather` sorts sentences into shards by pair, `shard` predicts and explains the bags of
a shard with `predict`, `extraction` merges the facts of all shards and compares them with a knowledge base, `forms`
writes files. Every step leaves whole files, so that a killed run resumes where it stopped.
"""
