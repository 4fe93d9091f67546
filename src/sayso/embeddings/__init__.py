"""Word and entity vectors: files of them, which words they cover, and two ways to train one's own."""
