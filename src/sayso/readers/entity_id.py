"""Ids for entities that a corpus only names."""


def id_from_name(name: str) -> str:
    """Return the id of an entity known by its name alone: the same for every spelling in upper or lower case.

    >>> id_from_name("Leland  High School")
    'name:leland_high_school'
    """
    return "name:" + ("_".join(name.lower().replace("_", " ").split()) or "_")
