"""All marks as a file, in each of the forms."""

import io
import tempfile
import zipfile
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from sayso.annotate.comments import remark_lines, remarks
from sayso.annotate.disagreement import closed_facts
from sayso.annotate.forms import FORMS
from sayso.annotate.marks import each_mark, settled_marks
from sayso.annotate.queue import read_settings
from sayso.serve.deps import Bench, Who

router = APIRouter(prefix="/api/annotations", tags=["annotations"])


@router.get("", response_class=Response)
def export(
    bench: Bench,
    _: Who,
    form: Annotated[Literal["jsonl", "eraser", "csv", "tuples"], Query(description="The form of the file.")] = "jsonl",
    each: Annotated[bool, Query(description="Everybody's marks instead of one a sentence.")] = False,
) -> Response:
    """Return the marks on closed facts: what was settled or the majority says, or everybody's own.

    Facts that somebody may still mark are not in it; `sayso annotations export --all` has them, too.
    """
    chosen = FORMS[form]
    with tempfile.TemporaryDirectory() as folder, bench.database.reading() as connection:
        target = Path(folder) / f"annotations{chosen.suffix}"
        closed = frozenset(closed_facts(connection, read_settings(connection).annotators_per_fact))
        chosen.write(target, (each_mark if each else settled_marks)(connection, closed))
        content = _zipped(target) if chosen.is_folder else target.read_bytes()
    name = "annotations.zip" if chosen.is_folder else target.name
    media = "application/zip" if chosen.is_folder else "text/csv" if form == "csv" else "application/x-ndjson"
    return Response(content, media_type=media, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@router.get("/remarks", response_class=Response)
def get_remarks(bench: Bench, _: Who) -> Response:
    """Return what people have said about closed facts as JSON lines: comments, and labels that they hold for wrong."""
    with bench.database.reading() as connection:
        closed = frozenset(closed_facts(connection, read_settings(connection).annotators_per_fact))
        content = "".join(remark_lines(remarks(connection, closed)))
    headers = {"Content-Disposition": 'attachment; filename="remarks.jsonl"'}
    return Response(content, media_type="application/x-ndjson", headers=headers)


def _zipped(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return packed.getvalue()
