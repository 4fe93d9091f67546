"""People's marks and decisions: assignment, marking, agreement, export and import, in one SQLite file."""
