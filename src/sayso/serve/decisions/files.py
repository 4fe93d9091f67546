"""Decided facts as a file that the browser keeps."""

from starlette.responses import Response

from sayso.annotate.decisions import decisions, readable
from sayso.facts.forms import FORMS, FormName
from sayso.serve.state import Workbench


def decided_file(bench: Workbench, form: FormName) -> Response:
    """Return the decided facts in a form of file."""
    chosen = FORMS[form]
    with bench.database.reading() as connection:
        facts, _ = readable(decisions(connection))
    facts, _ = chosen.keep(facts)
    headers = {"Content-Disposition": f'attachment; filename="{chosen.file_name}"'}
    return Response(chosen.write(facts), media_type=chosen.media_type, headers=headers)
