"""Documents and a knowledge base to sentences with mentions and distant labels.

The way of a document: `document` (bytes to text), `markup` (HTML left in it), `gazetteer` (names found), `split`
(sentences), `link` (names to entities), `mentioned` (tokens), `align` (pairs, and the facts that the knowledge base has
for them), `shard` (lines on disk). `build` is the whole way.
"""
