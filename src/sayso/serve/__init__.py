"""The workbench: web pages and a JSON API for a store, its runs' predictions and annotations, without torch."""
