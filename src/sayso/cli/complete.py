"""What the shell completes: the words that options and arguments take, where they are known without loading torch."""


def configs() -> list[tuple[str, str]]:
    """Return the name and the description of each config that comes with sayso."""
    from sayso.configs import config_names, describe_config

    return [(name, describe_config(name)) for name in config_names()]


def variants(incomplete: str) -> list[str]:
    """Return the paper's variants, each behind those that stand before a comma.

    >>> variants("DirectSup,CNNs+ATT+F+L")[0]
    'DirectSup,CNNs+ATT+F+LD'
    """
    before, comma, begun = incomplete.rpartition(",")
    names = sorted({about.partition(":")[0] for _, about in configs()})
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


def sentence_forms() -> list[str]:
    """Return the forms of sentences that can be read, and `auto`."""
    from sayso.readers import READERS

    return ["auto", *READERS]


def parts() -> list[str]:
    """Return the parts of a store that models are measured on."""
    return ["test", "validation", "train"]
