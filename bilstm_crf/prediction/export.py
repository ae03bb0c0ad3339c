"""Export: a trained model as files that run without torch.

The folder holds the network up to the emissions as an ONNX graph, the transition scores and
vocabularies as numpy tables, the weights once more for pure numpy, and the predictor that reads
them. Viterbi stays outside the graph: a loop over time does not belong there.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.forms import FEATURE_ROWS
from bilstm_crf.corpus.labels import SCHEMES, allowed_transitions
from bilstm_crf.errors import MissingExtraError, RunError
from bilstm_crf.model.char_encoders import CharCNNSection
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.crf import EntityLabels
from bilstm_crf.prediction import standalone_predictor
from bilstm_crf.prediction.model_file import TrainedModel, save_model
from bilstm_crf.prediction.onnx_graph import write_int8_graph
from bilstm_crf.prediction.packed_strings import pack_strings

PREDICTOR = "predictor.py"
GRAPH = "emissions.onnx"
GRAPH_INT8 = "emissions.int8.onnx"


def export_model(model: TrainedModel, folder: Path, *, int8: bool = False) -> list[Path]:
    """Write a model as an ONNX graph with numpy tables and a predictor.

    Args:
        model: the trained model.
        folder: made if it is not there; files of an earlier export are replaced.
        int8: write a graph with weights in 8 bits as well.

    Returns:
        The files written.

    Raises:
        MissingExtraError: the packages of the extra ``onnx`` are not installed.
        RunError: the folder cannot be written.
    """
    _require_onnx()
    write_tables(model, folder)
    _write_graph(model, folder / GRAPH)
    if int8:
        write_int8_graph(folder / GRAPH, folder / GRAPH_INT8)
    else:
        (folder / GRAPH_INT8).unlink(missing_ok=True)
    names = [GRAPH, GRAPH_INT8, "tables.npz", "weights.npz", "settings.json", PREDICTOR]
    return [folder / name for name in names if (folder / name).exists()]


def write_tables(model: TrainedModel, folder: Path) -> None:
    """Write all but the graphs: enough for the predictor to run on numpy alone.

    Raises:
        RunError: the folder cannot be written.
    """
    text = json.dumps(_settings(model), indent=2, ensure_ascii=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "tables.npz", allow_pickle=False, **_tables(model))
        np.savez(folder / "weights.npz", allow_pickle=False, **_weights(model))
        (folder / "settings.json").write_text(text + "\n", encoding="utf-8")
        shutil.copyfile(standalone_predictor.__file__, folder / PREDICTOR)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}") from None


def _require_onnx() -> None:
    for package in ("onnx", "onnxscript", "onnxruntime"):
        try:
            __import__(package)
        except ImportError:
            raise MissingExtraError(package, "onnx", "the export to ONNX") from None


def _write_graph(model: TrainedModel, path: Path) -> None:
    """Write the graph in a process of its own; see :mod:`bilstm_crf.prediction.onnx_graph`."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "model.pt"
        save_model(model, saved)
        program = [sys.executable, "-m", "bilstm_crf.prediction.onnx_graph", str(saved), str(path)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise RunError(f"{path}: the graph could not be exported: {reason[0]}")


def _tables(model: TrainedModel) -> dict[str, NDArray[Any]]:
    vocabularies = model.vocabularies
    strings = {
        "trained_words": vocabularies.words.trained,
        "stored_words": vocabularies.words.stored,
        "chars": vocabularies.chars.strings,
        **{f"column.{name}": values.strings for name, values in vocabularies.columns.items()},
    }
    tables = {
        f"{name}.{part}": tensor.numpy()
        for name, values in strings.items()
        for part, tensor in pack_strings(values).items()
    }
    return {**tables, **_scores(model)}


def _scores(model: TrainedModel) -> dict[str, NDArray[np.float32]]:
    """Return start, transition and end scores, -inf where decoding does not go."""
    labels = model.vocabularies.labels
    size = len(labels)
    shapes = {"start": (size,), "transitions": (size, size), "end": (size,)}
    scores = {name: np.zeros(shape, dtype=np.float32) for name, shape in shapes.items()}
    if model.section.head != "crf":
        return scores
    names = {"start": "start_transitions", "transitions": "transitions", "end": "end_transitions"}
    for name, weight in names.items():
        scores[name] += model.weights[f"head.{weight}"].float().numpy()
    crf = model.section.crf
    if crf.constraints != "none":
        allowed = allowed_transitions(labels, model.scheme)
        scores["start"][~allowed.start] = -np.inf
        scores["transitions"][~allowed.pairs] = -np.inf
        scores["end"][~allowed.end] = -np.inf
    # Each step passes one of these, so the outside label's bias can be added here.
    outside = labels.index("O")
    scores["start"][outside] += crf.outside_bias
    scores["transitions"][:, outside] += crf.outside_bias
    return scores


def _weights(model: TrainedModel) -> dict[str, NDArray[Any]]:
    return {name: weight.numpy() for name, weight in model.weights.items()}


def _settings(model: TrainedModel) -> dict[str, Any]:
    scheme = SCHEMES[model.file_scheme]
    encoder = model.section.char_encoder
    return {
        "labels": list(model.vocabularies.labels),
        "prefixes": {
            "first": scheme.first,
            "inside": scheme.inside,
            "last": scheme.last,
            "single": scheme.single,
            "adjacent": scheme.adjacent or "",
        },
        "entities": _entities(model),
        "columns": {name: column_module(name) for name in model.vocabularies.columns},
        "longest": encoder.longest,
        "feature_rows": FEATURE_ROWS,
        "char_encoder": encoder.type,
        "char_width": encoder.width if isinstance(encoder, CharCNNSection) else 0,
        "members": model.section.members,
        "lstm_layers": model.section.lstm.layers,
    }


def _entities(model: TrainedModel) -> dict[str, Any] | None:
    """Return the label ids and the threshold of a model that predicts probable entities."""
    threshold = model.section.crf.entity_threshold
    if model.section.crf.decoding != "expected_f1" or threshold == "auto":
        return None
    labels = EntityLabels.of(model.vocabularies.labels, model.scheme)
    return {"threshold": threshold, **asdict(labels)}


Predict = Callable[[list[list[str]], dict[str, list[list[str]]]], list[list[str]]]


def load_predictor(folder: Path, engine: str, graph: str = GRAPH) -> Predict:
    """Return the prediction function of an exported folder, run by the file that stands in it.

    Args:
        folder: what :func:`export_model` wrote.
        engine: ``onnxruntime`` or ``numpy``.
        graph: which graph onnxruntime runs.
    """
    spec = importlib.util.spec_from_file_location("exported_predictor", folder / PREDICTOR)
    if spec is None or spec.loader is None:
        raise RunError(f"{folder / PREDICTOR}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    predictor = module.Predictor(folder, engine, graph)
    return lambda sentences, columns: predictor.predict(sentences, columns)
