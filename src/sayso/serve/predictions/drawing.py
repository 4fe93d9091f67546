"""A curve of precision over recall in the coordinates of a drawing."""

from dataclasses import dataclass

from sayso.serve.predictions.curve import Curve

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 44, 18, 36, 52


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A line of the grid: where it stands, and what is written at it."""

    position: float
    text: str


@dataclass(frozen=True, kw_only=True)
class CurveDrawing:
    """The line as an SVG polyline has it, the points' places, and the grid."""

    line: str
    places: list[tuple[float, float]]
    across: list[Tick]
    up: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw_curve(curve: Curve) -> CurveDrawing:
    """Return the drawing; both axes go from 0 to 1."""
    shares = [step / 5 for step in range(6)]
    return CurveDrawing(
        line=" ".join(f"{_across(recall)},{_up(precision)}" for recall, precision in curve.line),
        places=[(_across(point.recall), _up(point.precision)) for point in curve.points],
        across=[Tick(position=_across(share), text=f"{share:g}") for share in shares],
        up=[Tick(position=_up(share), text=f"{share:g}") for share in shares],
    )


def _across(share: float) -> float:
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)
