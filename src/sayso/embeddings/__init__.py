"""Read, write and train word and entity vectors, and look up those of a vocabulary."""
