"""Marks and decisions in one SQLite file: assignment, marking, agreement, export and import."""
