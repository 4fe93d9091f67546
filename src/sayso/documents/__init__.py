"""Build sentences with mentions and distant labels from documents and a knowledge base.

A document passes through `document` (bytes to text), `markup` (HTML removed), `gazetteer` (names found), `split`
(sentences), `link` (names to entities, with `doubt` for names inside longer names and `entity_graph` for what the facts
say about the entities), `mention` (tokens and mentions), `knowledge` (pairs and their relations) and `corpus` (lines on
disk). `build` runs all the steps.
"""
