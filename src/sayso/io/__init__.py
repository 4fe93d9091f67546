"""Files and folders on disk: atomic writes, locked output folders with a manifest, resuming, and an on-disk shuffle."""
