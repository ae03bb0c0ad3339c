"""The report as a real browser shows it; skipped where no Chromium is installed."""

import html
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.evaluation import Evaluation
from bilstm_crf.evaluation.markup import MarkedText, mark_up_html
from bilstm_crf.evaluation.report import render_report

pytestmark = pytest.mark.slow

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FRAME = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<title>measuring</title>
<iframe id="page" style="width: {width}px; height: 800px; border: 0" srcdoc="{page}"></iframe>
<script>
onload = () => {{
  const page = document.getElementById("page").contentDocument;
  document.title = page.documentElement.scrollWidth;
  document.body.dataset.colour = getComputedStyle(page.body).backgroundColor;
}};
</script>"""


@pytest.fixture(scope="module")
def chromium() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    return found


@pytest.fixture(scope="module")
def pages(
    make_run: Callable, evaluation: Evaluation, other_evaluation: Evaluation
) -> dict[str, str]:
    one, other = make_run(evaluation), make_run(other_evaluation, "r" * 70)
    texts = [MarkedText("x" * 300 + " in New York", [Span(304, 312, "LOC", 0.5)])]
    return {
        "one run": render_report([one], title="one run"),
        "two runs": render_report([one, other], title="r" * 90),
        "marked": "".join(mark_up_html(texts, title="t" * 90)),
    }


def run_browser(chromium: str, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        *options,
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


@pytest.mark.parametrize("name", ["one run", "two runs", "marked"])
@pytest.mark.parametrize(("scheme", "colour"), [(1, "rgb(251, 251, 250)"), (0, "rgb(21, 24, 28)")])
def test_page_fits_a_phone_in_both_colour_schemes(
    chromium: str, pages: dict[str, str], tmp_path: Path, name: str, scheme: int, colour: str
):
    frame = tmp_path / "frame.html"
    text = FRAME.format(width=380, page=html.escape(pages[name]))
    frame.write_text(text, encoding="utf-8")
    options = ("--dump-dom", f"--blink-settings=preferredColorScheme={scheme}")
    done = run_browser(chromium, frame, *options)
    assert "<title>380</title>" in done.stdout
    assert f'data-colour="{colour}"' in done.stdout
    assert "CONSOLE" not in done.stderr


@pytest.mark.parametrize("width", [380, 1200])
def test_page_is_drawn_without_a_console_message(
    chromium: str, pages: dict[str, str], tmp_path: Path, width: int
):
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(pages["one run"], encoding="utf-8")
    done = run_browser(chromium, page, f"--screenshot={picture}", f"--window-size={width},3000")
    assert "CONSOLE" not in done.stderr
    # an empty page of this size takes a few kB
    assert picture.stat().st_size > 50_000


def test_the_measuring_frame_notices_a_page_that_is_too_wide(chromium: str, tmp_path: Path):
    frame = tmp_path / "frame.html"
    wide = (
        '<body style="margin: 0"><div style="width: 500px">x</div><script>console.error(1)</script>'
    )
    frame.write_text(FRAME.format(width=380, page=html.escape(wide)), encoding="utf-8")
    done = run_browser(chromium, frame, "--dump-dom")
    assert "<title>500</title>" in done.stdout
    assert "CONSOLE" in done.stderr
