"""Models in other people's forms; each needs an optional library, and nothing imports it but its command."""
