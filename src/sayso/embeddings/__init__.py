"""Word and entity vectors: read, write and train them, and find those of a vocabulary."""
