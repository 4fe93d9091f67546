"""Build sentences with mentions and distant labels from documents and a knowledge base.

A document passes through `document` (bytes to text), `markup` (HTML removed), `gazetteer` (names found), `split`
(sentences), `link` (names to entities), `mention` (tokens and mentions), `knowledge` (pairs and their relations) and
`corpus` (lines on disk). `build` runs all the steps. `link` uses `doubt` (names inside longer names), `nearby` (the
entities around a name) and `entity_graph` (how entities are related). `spacy_finder` finds names with spaCy instead,
and `new_entity` lists entities that the knowledge base does not have. `reference` links surnames and pronouns. `lookup`
finds a document, to show quotes in it.
"""
