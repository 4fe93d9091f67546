"""A corpus of any size to facts with the sentences that their predictions rest on.

The way of a sentence: `piece` (a stretch of a file), `gather` (its line goes to the shard of its pair), `shard` (the
bags of a shard, predicted and explained by `judge`), `extraction` (facts of all shards in order, compared with the
knowledge base), `forms` (files). `run` is the whole way. Every step leaves whole files, so that a killed run goes on
where it was.
"""
