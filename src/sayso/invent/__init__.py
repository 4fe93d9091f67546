"""Generate an invented corpus: a world of typed entities, its facts, and news with ground truth for every sentence.

It is the built-in example, the test bed and the load generator. `relations.toml` and `words.toml` contain its language.
Modules, in pipeline order: `world`, `pairs`, `plan`, `names`, `sentences`, `articles`, `write`; `raw` writes the
same corpus as documents and a knowledge base.
"""
