"""Files and folders on disk: atomic writes, locked output folders with a manifest, and resuming."""
