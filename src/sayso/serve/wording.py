"""How values are written on pages."""


def spaced(name: str) -> str:
    """Return an entity's name as people write it.

    >>> spaced("el_paso")
    'el paso'
    """
    return name.replace("_", " ").strip() or name


def readable(relation: str) -> str:
    """Return the last part of a relation's name as words.

    >>> readable("/location/country/capital"), readable("per:place_of_birth")
    ('capital', 'place of birth')
    """
    return spaced(relation.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]) or relation


def percent(share: float | None) -> str:
    """Return a share of one in percent.

    >>> percent(0.875), percent(None)
    ('88 %', '–')
    """
    return "–" if share is None else f"{share:.0%}".replace("%", " %")


def figure(value: float | None) -> str:
    """Return a figure with two decimals.

    >>> figure(0.5), figure(None)
    ('0.50', '–')
    """
    return "–" if value is None else f"{value:.2f}"


FILTERS = {"spaced": spaced, "readable": readable, "percent": percent, "figure": figure}
"""What templates call them."""
