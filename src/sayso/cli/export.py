"""`sayso export`: write a trained model as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer

from sayso.cli.console import note, print_result, say_next
from sayso.cli.options import AsJson, NoVerify
from sayso.io.atomic import refuse_unwritable_path


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder or a model folder of one seed.")],
    out: Annotated[Path, typer.Option(help="ONNX file to write.")],
    as_json: AsJson = False,
    _no_verify: NoVerify = False,
) -> None:
    """Write a model as ONNX, for programs without torch, and check it against torch.

    The file maps token ids and bags to logits; docs/library.md documents its inputs. Needs the extra `onnx`.

    Example: `sayso export runs/demo --out demo.onnx`
    """
    from sayso.integrations.onnx import export_onnx
    from sayso.library import load

    refuse_unwritable_path(out)
    model = load(run)
    note("exporting; this takes a few seconds")
    error = export_onnx(model, out)
    record = {"variant": model.variant, "relations": len(model.relations), "largest_difference": error}
    text = f"{model.variant}: {len(model.relations):,} relations; largest difference from torch {error:.1e}"
    print_result(as_json, record, text)
    say_next(f"{out} ({out.stat().st_size:,} bytes)", hint="docs/library.md documents its inputs")
