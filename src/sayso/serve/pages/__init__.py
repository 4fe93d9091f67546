"""The pages, rendered on the server: one file a kind."""
