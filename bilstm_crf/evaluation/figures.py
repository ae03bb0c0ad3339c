"""Figures as inline SVG whose colours come from the style sheet of the page around them.

Matplotlib draws with fixed stand-in colours; in the finished SVG each is replaced by a CSS
variable, so that one drawing serves light and dark pages. The figures are made through
the object interface: nothing global is drawn on or left open.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT, FAINT = "#000011", "#000012"
SERIES = tuple(f"#00002{number}" for number in range(1, 8))
POSITIVE, NEGATIVE = "#2f7de1", "#e0641f"
"""Ends of the heat maps; they fade into the page, whatever its colour."""

_VARIABLES = {
    TEXT: "var(--text)",
    FAINT: "var(--line)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(SERIES, 1)},
}
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bilstm-crf",
    "text.parse_math": False,
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.edgecolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": TEXT,
    "ytick.labelcolor": TEXT,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 3.5,
}


def draw(
    paint: Callable[["Axes"], None],
    *,
    title: str,
    name: str,
    size: tuple[float, float] = (3.7, 2.5),
) -> str:
    """Return an SVG element with one pair of axes.

    Args:
        paint: draws on the axes, in the colours of this module.
        title: stands above, and names the drawing for screen readers.
        name: distinguishes the element's ids from those of other drawings on the page.
        size: width and height in inches; it sets the proportions, the page sets the width.
    """
    with _figure(size) as figure:
        axes = figure.add_subplot()
        paint(axes)
        axes.set_title(title)
        return _themed(figure, title, name)


@contextmanager
def _figure(size: tuple[float, float]) -> Iterator["Figure"]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():  # type: ignore[arg-type]
        # text stays text, so it is the reader's fonts that must have the characters
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield Figure(figsize=size, layout="constrained")


def _themed(figure: "Figure", title: str, name: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"#0000[0-9a-f]{2}\b", _variable, svg)
    svg = re.sub(r"'DejaVu Sans'[^;\"]*", "system-ui, sans-serif", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"(url\(|href=\")#", rf"\1#{name}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)


def _variable(found: re.Match[str]) -> str:
    return _VARIABLES.get(found.group(), found.group())


def fading(values: Sequence[Sequence[float]], largest: float) -> list[list[tuple[float, ...]]]:
    """Return RGBA cells for a heat map: the sign sets the colour, the size how opaque it is.

    Args:
        values: the cells; nan is left empty.
        largest: the size that is fully opaque.
    """
    from matplotlib.colors import to_rgb

    def cell(value: float) -> tuple[float, ...]:
        if isnan(value):
            return (0.0, 0.0, 0.0, 0.0)
        opacity = min(1.0, abs(value) / largest) if largest else 0.0
        return (*to_rgb(POSITIVE if value >= 0 else NEGATIVE), 0.9 * opacity)

    return [[cell(value) for value in row] for row in values]
