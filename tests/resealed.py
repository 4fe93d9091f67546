"""Files of sayso changed by a test, with matching checksums, as if they had been written that way."""

import json
from pathlib import Path
from typing import Any

from sayso.io.checksum import FILES, sums_of
from sayso.io.json_file import to_json


def rewrite(path: Path, **changes: Any) -> None:
    """Change keys (None: remove) of a JSON file with a checksum and, in a manifest, the checksums of its files."""
    record = {name: value for name, value in (json.loads(path.read_text()) | changes).items() if value is not None}
    if FILES in record:
        record[FILES] = sums_of(path.parent, [name for name in record[FILES] if (path.parent / name).exists()])
    path.write_text(to_json(record))
