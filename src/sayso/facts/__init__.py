"""Facts that people have decided on, with all that a knowledge base asks about where they come from."""
