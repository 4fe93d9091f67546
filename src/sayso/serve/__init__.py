"""The workbench: web pages and JSON over a store, its runs' predictions and people's annotations; never loads torch."""
