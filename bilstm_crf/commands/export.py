"""``bilstm-crf export``: a model as files that run without torch, checked against the model."""

import time
from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.commands.model_data import ModelData
from bilstm_crf.console import print_table, say
from bilstm_crf.corpus.context import context_limit
from bilstm_crf.corpus.readers import expand_paths
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.metrics import score
from bilstm_crf.prediction.export import GRAPH, GRAPH_INT8, Predict, export_model, load_predictor
from bilstm_crf.prediction.model_file import load_model
from bilstm_crf.prediction.predictor import Tagger


def export_command(model_path: Path, folder: Path, *, int8: bool, verify: Path | None) -> None:
    """Write the exported model; with ``verify``, compare all its engines with the model.

    Raises:
        BilstmCrfError: the model or the data cannot be read, or the folder not written.
        RunError: an exact engine gives other labels than the model.
    """
    model = load_model(model_path)
    if context_limit(model.record.get("config", {}).get("data", {})) is not None:
        raise RunError(
            f"{model_path}: reads documents (data.context: document), and an exported predictor "
            "reads single sentences; train with data.context: sentence to export"
        )
    files = export_model(model, folder, int8=int8)
    for file in files:
        say(f"{file} ({file.stat().st_size / 1e6:.2f} MB)")
    if verify is not None:
        _verify(model_path, folder, verify, int8=int8)


def _verify(model_path: Path, folder: Path, data: Path, *, int8: bool) -> None:
    tagger = Tagger.load(model_path)
    sentences = ModelData(tagger.model).read(expand_paths([str(data)]))
    gold = [list(sentence.labels or ()) for sentence in sentences]
    start = time.process_time()
    expected = [p.labels for p in tagger.predict_sentences(sentences)]
    rows = [_row("torch", expected, expected, gold, time.process_time() - start)]
    engines = [("onnxruntime", GRAPH), ("numpy", GRAPH)]
    if int8:
        engines.append(("onnxruntime", GRAPH_INT8))
    exact = []
    for engine, graph in engines:
        name = "onnxruntime int8" if graph == GRAPH_INT8 else engine
        predict = load_predictor(folder, engine, graph)
        start = time.process_time()
        labels = _run(predict, sentences)
        rows.append(_row(name, labels, expected, gold, time.process_time() - start))
        if graph == GRAPH and labels != expected:
            exact.append(name)
    header = ["engine", "same labels %", "F1", "tokens/CPU-s"]
    print_table(header, rows, title=f"{len(sentences)} sentences of {data}")
    if exact:
        raise RunError(f"{folder}: {', '.join(exact)} gave other labels than {model_path}")


def _run(predict: Predict, sentences: Sequence[Sentence]) -> list[list[str]]:
    columns = {name: [list(s.features[name]) for s in sentences] for name in sentences[0].features}
    return predict([list(sentence.tokens) for sentence in sentences], columns)


def _row(
    name: str,
    labels: list[list[str]],
    expected: list[list[str]],
    gold: list[list[str]],
    seconds: float,
) -> list[str]:
    tokens = sum(map(len, gold))
    same = sum(a == b for ours, theirs in zip(labels, expected, strict=True)
               for a, b in zip(ours, theirs, strict=True))  # fmt: skip
    f1 = score(gold, labels, scheme="BIO").f1
    rate = f"{tokens / max(seconds, 1e-9):,.0f}"
    return [name, f"{100 * same / max(tokens, 1):.3f}", f"{100 * f1:.2f}", rate]
