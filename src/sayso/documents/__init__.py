"""Build sentences with mentions and distant labels from documents and a knowledge base.

A document passes through `document` (bytes to text), `markup` (HTML removed), `gazetteer` (names found), `split`
(sentences), `link` (names to entities), `mention` (tokens and mentions), `knowledge` (pairs and their relations) and
`corpus` (lines on disk). `build` runs all the steps. For `link`, `doubt` finds names inside longer names, and `nearby`
and `entity_graph` what speaks for an entity: those named near it, and the facts about them.
"""
