"""sayso extracts facts from text and shows which sentences say so."""

__version__ = "0.1.0"
