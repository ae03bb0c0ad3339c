import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from bilstm_crf.evaluation.evaluation import Evaluation, evaluate_analysis
from bilstm_crf.evaluation.plots import confusion_matrix
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord
from bilstm_crf.evaluation.report import ReportedRun, render_report


class Page(HTMLParser):
    """Collects what a browser would load or run, and checks that elements nest."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag != "a":
            names = ("src", "href", "xlink:href", "data", "srcset")
            self.loaded += [value or "" for name, value in attrs if name in names]
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def report(make_run: Callable, evaluation: Evaluation) -> str:
    return render_report([make_run(evaluation)], title="run <1>")


def test_report_needs_nothing_from_outside(report: str):
    page = Page(report)
    assert not {"script", "iframe", "object", "img", "base"} & set(page.tags)
    assert all(address.startswith(("#", "data:")) for address in page.loaded)
    assert "@import" not in report
    assert not re.search(r"url\((?!#)", report)


def test_report_shows_every_part(report: str):
    page = Page(report)
    for part in (
        "F1 on test",
        "Learning curves",
        "training loss",
        "dev F1 (%)",
        "learning rate",
        "Scores by type",
        "95 % interval",
        "seqeval_strict",
        "seqeval_default",
        "conlleval",
        "type confusion",
        "error classes by type",
        "By what training knew",
        "By length of the entity",
        "By length of the sentence",
        "calibration of entities",
        "scores by threshold",
        "transition scores",
        "START",
        "END",
        "Sure and wrong",
        "Is gold right here?",
        "Configuration",
        "seed: 1",
        "0f" * 32,
    ):
        assert part in page.text, part
    assert page.tags.count("mark") > 10
    assert page.tags.count("svg") == 8


def test_strings_of_the_data_stay_strings(report: str):
    page = Page(report)
    assert "<b>bold</b>" in page.text
    assert "&amp;" in page.text
    assert 'a "very" long & <awkward> type' in page.text
    assert "$x_1$" in page.text
    assert "run <1>" in page.text
    assert "<b>bold" not in report


def test_colours_come_from_the_style_sheet(report: str):
    assert "var(--series-1)" in report
    assert not re.search(r"#0000[12][0-9a-f]\b", report)
    assert "prefers-color-scheme: dark" in report
    assert "@media print" in report


def test_several_runs_stand_side_by_side(
    make_run: Callable, evaluation: Evaluation, other_evaluation: Evaluation
):
    runs = [
        make_run(evaluation, "first"),
        make_run(other_evaluation, "second"),
        make_run(None, "third"),
    ]
    page = Page(render_report(runs, title="three"))
    assert len(page.ids) == len(set(page.ids))
    text = page.text
    scores = [one.readings.headline.f1 for one in (evaluation, other_evaluation)]
    for f1 in scores:
        assert f"{100 * f1:.2f}" in text
    assert f"{100 * sum(scores) / 2:.2f} ±" in text
    assert "Difference from first" in text
    assert f"{100 * (scores[1] - scores[0]):+.2f}" in text
    assert "there are no scores" in text


def test_a_run_without_any_entity_has_a_report(make_run: Callable):
    record = SentenceRecord(("a", "b"), ("O", "O"), ("O", "O"))
    nothing = evaluate_analysis(RunAnalysis("BIO", "dev", (record,)), resamples=10)
    text = Page(render_report([make_run(nothing)], title="nothing")).text
    assert "nothing to score" in text
    assert "nan" not in text.lower().split()


def test_a_run_without_dev_data_has_no_dev_curve(evaluation: Evaluation):
    epochs = [{"epoch": 1, "train_loss": 2.0, "dev": None, "learning_rate": 0.1}]
    run = ReportedRun("run", epochs, {}, "", evaluation)
    text = Page(render_report([run], title="run")).text
    assert "training loss" in text
    assert "dev F1" not in text


def test_the_same_numbers_give_the_same_drawing(evaluation: Evaluation):
    confusion = evaluation.errors.confusion
    assert confusion_matrix(confusion, "x") == confusion_matrix(confusion, "x")


def test_no_run_is_refused():
    with pytest.raises(ValueError, match="no run"):
        render_report([], title="none")
