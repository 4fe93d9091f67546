"""The configs that come with sayso, one TOML file each; a config's name is its file name without `.toml`."""

import difflib
from pathlib import Path

from sayso.errors import BadConfigError

_FOLDER = Path(__file__).parent


def config_names() -> list[str]:
    """Return the names of the configs.

    >>> "cnns_att_f_ld" in config_names()
    True
    """
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def find_config(config: str | Path) -> Path:
    """Find a config's file by name, variant or path.

    A name takes precedence over a file of the same name: write `./cnns_att` for the file.

    Raises:
        BadConfigError: no config or file has this name.

    >>> find_config("CNNs+ATT+F+LD").name
    'cnns_att_f_ld.toml'
    """
    names = config_names()
    name = str(config).lower().replace("+", "_")
    if name in names:
        return _FOLDER / f"{name}.toml"
    path = Path(config)
    if path.exists():
        return path
    near = difflib.get_close_matches(Path(name).name.removesuffix(".toml"), names, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(names)}"
    missing = "no such file or directory" if path.suffix or len(path.parts) > 1 else "no config has this name"
    raise BadConfigError(f"{config}: {missing}; {hint}")


def describe_config(name: str) -> str:
    """Describe a config in one line: what it trains, and what the store must be prepared with.

    >>> describe_config("cnns_att")
    'CNNs+ATT: relation-specific attention over the sentences of a bag'
    """
    lines = []
    for line in find_config(name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            break
        lines.append(line.removeprefix("# "))
    about = " ".join(lines).partition(".")[0]
    needs = next((line for line in lines if line.startswith("The store must")), "").rpartition(": ")[2].rstrip(".")
    return f"{about} (the store needs {needs})" if needs else about
