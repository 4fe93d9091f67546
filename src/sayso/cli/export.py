"""`sayso export`: a trained model as an ONNX file."""

from pathlib import Path
from typing import Annotated

import typer

from sayso.cli.console import print_json, remark, say, say_next
from sayso.cli.verify import NoVerify


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a model's.")],
    out: Annotated[Path, typer.Option(help="ONNX file to write.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
    _no_verify: NoVerify = False,
) -> None:
    """Write a model as ONNX, for programs without torch, and check it against torch.

    The file takes numbered tokens and bags and gives logits; docs/library.md names its inputs. Needs the extra `onnx`.

    Example: `sayso export runs/demo --out demo.onnx`
    """
    from sayso.integrations.onnx import export_onnx
    from sayso.io.atomic import refuse_unwritable_path
    from sayso.library import load

    refuse_unwritable_path(out)
    model = load(run)
    remark("exporting, which takes some seconds")
    error = export_onnx(model, out)
    if as_json:
        print_json({"variant": model.variant, "relations": len(model.relations), "largest_difference": error})
    else:
        say(f"{model.variant}: {len(model.relations):,} relations; largest difference to torch {error:.1e}")
    say_next(f"{out} ({out.stat().st_size:,} bytes)", note="docs/library.md says how to call it")
