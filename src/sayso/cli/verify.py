"""The option by which the files of stores and models are trusted without comparing them with their checksums."""

from typing import Annotated

import typer

from sayso.io.checksum import set_verifying


def _set(is_trusted: bool) -> bool:
    set_verifying(not is_trusted)
    return is_trusted


NoVerify = Annotated[
    bool,
    typer.Option(
        "--no-verify",
        callback=_set,
        help="Skip checksums and ranges of numbers (stores, models, extractions), for huge files.",
    ),
]
