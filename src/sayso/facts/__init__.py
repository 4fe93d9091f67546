"""Facts: predicted, explained, extracted or decided on by people, with their provenance and export formats."""
