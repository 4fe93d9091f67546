"""Files and folders on disk: atomic writes, locked output folders with manifest and resume, a shuffle by key."""
