"""A predictor that needs numpy alone (and onnxruntime where it is installed).

``bilstm-crf export`` copies this file beside the exported model; it imports nothing of the
package that wrote it.

    python predictor.py tokens.txt > labelled.txt

labels a file with one token a line (further columns set apart by tabs are left out) and a blank
line between sentences; in Python:

    from predictor import Predictor
    Predictor("exported").predict([["Ada", "lives", "in", "Oslo"]])
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

Array = np.ndarray[Any, Any]
_DIGITS = re.compile(r"[0-9]")
_BATCH_SENTENCES, _BATCH_TOKENS = 64, 8192


class Predictor:
    """An exported model.

    Args:
        folder: what ``bilstm-crf export`` wrote.
        engine: ``onnxruntime``, ``numpy`` (no other package), or ``auto``: the first if installed.
        graph: the graph file that onnxruntime runs, such as ``emissions.int8.onnx``.
    """

    def __init__(
        self, folder: str | Path, engine: str = "auto", graph: str = "emissions.onnx"
    ) -> None:
        folder = Path(folder)
        self.settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
        with np.load(folder / "tables.npz", allow_pickle=False) as file:
            tables = dict(file)
        self.words = _numbered(tables, "trained_words", "stored_words")
        self.chars = _numbered(tables, "chars")
        self.columns = {n: _numbered(tables, f"column.{n}") for n in self.settings["columns"]}
        self._scores = tables["start"], tables["transitions"], tables["end"]
        self._emissions = _engine(folder, engine, graph, self.settings)

    def predict(
        self,
        sentences: Sequence[Sequence[str]],
        columns: Mapping[str, Sequence[Sequence[str]]] | None = None,
    ) -> list[list[str]]:
        """Return the labels of tokenised sentences, in their order.

        Args:
            sentences: tokens of each sentence.
            columns: for a model with extra columns their values by name, shaped like ``sentences``.

        Raises:
            ValueError: an extra column that the model needs is missing.
        """
        results: list[list[str]] = [[] for _ in sentences]
        waiting: list[int] = []
        for number in sorted(range(len(sentences)), key=lambda i: len(sentences[i])):
            width = len(sentences[number])
            full = len(waiting) == _BATCH_SENTENCES or width * (len(waiting) + 1) > _BATCH_TOKENS
            if waiting and full:
                self._predict_batch(sentences, columns or {}, waiting, results)
                waiting = []
            if width:
                waiting.append(number)
        if waiting:
            self._predict_batch(sentences, columns or {}, waiting, results)
        return results

    def _predict_batch(
        self,
        sentences: Sequence[Sequence[str]],
        columns: Mapping[str, Sequence[Sequence[str]]],
        numbers: Sequence[int],
        results: list[list[str]],
    ) -> None:
        forms: dict[str, int] = {}
        lengths = np.array([len(sentences[i]) for i in numbers], dtype=np.int64)
        index = np.zeros((len(numbers), lengths.max()), dtype=np.int64)
        for row, i in enumerate(numbers):
            index[row, : lengths[row]] = [forms.setdefault(t, len(forms)) for t in sentences[i]]
        inputs = {**self._look_up(list(forms)), "index": index, "lengths": lengths}
        for name, ids in self.columns.items():
            if name not in columns:
                raise ValueError(f"this model needs the extra column {name!r}")
            values = inputs[f"column.{name}"] = np.zeros_like(index)
            for row, i in enumerate(numbers):
                values[row, : lengths[row]] = [ids.get(value, 0) for value in columns[name][i]]
        emissions = self._emissions(inputs)
        labels, prefixes = self.settings["labels"], self.settings["prefixes"]
        entities = self.settings["entities"]
        for row, i in enumerate(numbers):
            scores = emissions[row, : lengths[row]]
            if entities is None:
                path = best_path(scores, *self._scores)
            else:
                path = probable_entities(scores, *self._scores, entities)
            results[i] = in_file_scheme([labels[k] for k in path], prefixes)

    def _look_up(self, forms: Sequence[str]) -> dict[str, Array]:
        longest = self.settings["longest"]
        rows: list[int] = []
        chars: list[list[int]] = []
        features: list[list[int]] = []
        for form in forms:
            lower = form.lower()
            keys = (form, lower, _DIGITS.sub("0", lower))
            rows.append(next((self.words[key] for key in keys if key in self.words), 0))
            seen = form
            if len(form) > longest:  # head and tail
                head = (longest + 1) // 2
                seen = form[:head] + form[len(form) - (longest - head) :]
            chars.append([self.chars.get(char, 0) + 1 for char in seen])
            features.append(_hashed_views(seen, self.settings["feature_rows"]))
        table = np.zeros((len(forms), max(1, *map(len, chars))), dtype=np.int64)
        for row, ids in enumerate(chars):
            table[row, : len(ids)] = ids
        return {
            "words": np.array(rows, dtype=np.int64),
            "chars": table,
            "form_features": np.array(features, dtype=np.int64),
        }


def best_path(emissions: Array, start: Array, transitions: Array, end: Array) -> list[int]:
    """Return the best label ids of one sentence (Viterbi).

    Args:
        emissions: (time, labels).
        start: (labels,) score of each first label; -inf where not allowed.
        transitions: (labels, labels), ``[i, j]`` scores i then j.
        end: (labels,) score of each last label.
    """
    best = start + emissions[0]
    pointers = []
    for scores in emissions[1:]:
        steps = best[:, None] + transitions
        pointers.append(steps.argmax(0))
        best = steps.max(0) + scores
    path = [int((best + end).argmax())]
    for pointer in reversed(pointers):
        path.append(int(pointer[path[-1]]))
    return path[::-1]


def probable_entities(
    emissions: Array, start: Array, transitions: Array, end: Array, entities: Mapping[str, Any]
) -> list[int]:
    """Return label ids of the entities of one sentence that are probable enough.

    Args:
        emissions: (time, labels); this and the next three as in :func:`best_path`.
        start: (labels,).
        transitions: (labels, labels).
        end: (labels,).
        entities: the threshold, the id of the outside label, and for each type those of the
            first, inside, last and single labels.
    """
    marginals, following = _label_chain(emissions.astype(np.float64), start, transitions, end)
    threshold, time = entities["threshold"], len(emissions)
    # The best sum of what entities exceed the threshold by, up to each token, and its entities.
    best: list[tuple[float, list[tuple[int, int, int]]]] = [(0.0, [])]
    ending: list[list[tuple[int, int, float]]] = [[] for _ in range(time + 1)]
    kinds = zip(*(entities[part] for part in ("first", "inside", "last", "single")), strict=True)
    for kind, (first, inside, last, single) in enumerate(kinds):
        going_on = sorted({inside, last})
        for begin in range(time):
            alone = marginals[begin, single] * (1 - following[begin, single, going_on].sum())
            if alone > threshold:
                ending[begin + 1].append((begin, kind, alone))
            weight, label, step = marginals[begin, first], first, begin
            while weight > threshold and step + 1 < time:
                finished = 1 - following[step + 1, last, going_on].sum()
                whole = weight * following[step, label, last] * finished
                if whole > threshold:
                    ending[step + 2].append((begin, kind, whole))
                weight = weight * following[step, label, inside]
                label, step = inside, step + 1
    for stop in range(1, time + 1):
        here = best[-1]
        for begin, kind, probability in ending[stop]:
            value = best[begin][0] + probability - threshold
            if value > here[0]:
                here = value, [*best[begin][1], (begin, stop, kind)]
        best.append(here)
    path = [entities["outside"]] * time
    for begin, stop, kind in best[-1][1]:
        if stop - begin == 1:
            path[begin] = entities["single"][kind]
            continue
        path[begin:stop] = [entities["inside"][kind]] * (stop - begin)
        path[begin], path[stop - 1] = entities["first"][kind], entities["last"][kind]
    return path


def _label_chain(
    emissions: Array, start: Array, transitions: Array, end: Array
) -> tuple[Array, Array]:
    """Return the probabilities of labels, and of labels behind a label.

    They are (time, labels) and, given the label before, (time, labels, labels): 0 behind the end.
    """
    time, labels = emissions.shape
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ahead, behind = np.empty((time, labels)), np.empty((time, labels))
        ahead[0], behind[-1] = start + emissions[0], end
        following = np.zeros((time, labels, labels))
        for t in range(1, time):
            ahead[t] = emissions[t] + np.logaddexp.reduce(ahead[t - 1][:, None] + transitions, 0)
        for t in range(time - 2, -1, -1):
            scores = transitions + emissions[t + 1] + behind[t + 1]
            behind[t] = np.logaddexp.reduce(scores, 1)
            following[t] = np.nan_to_num(np.exp(scores - behind[t][:, None]))
        both = ahead + behind
        return np.exp(both - np.logaddexp.reduce(both[0])), following


def in_file_scheme(labels: Sequence[str], prefixes: Mapping[str, str]) -> list[str]:
    """Return labels of the model's scheme in that of the training files.

    Args:
        labels: in any scheme; an entity goes on while the type stays and no border prefix comes.
        prefixes: letters of the target scheme: first, inside, last, single and adjacent (of an
            entity that directly follows one of its type; empty if not marked).
    """
    result = ["O"] * len(labels)
    position, last_end, last_type = 0, 0, ""
    while position < len(labels):
        kind = labels[position].partition("-")[2]
        end = position + 1
        if not kind:
            position = end
            continue
        while end < len(labels) and _goes_on(labels[end - 1], labels[end]):
            end += 1
        first = prefixes["single"] if end - position == 1 else prefixes["first"]
        if prefixes["adjacent"] and last_end == position and last_type == kind:
            first = prefixes["adjacent"]
        inside = [prefixes["inside"]] * (end - position - 2)
        letters = [first, *inside, prefixes["last"]][: end - position]
        result[position:end] = [f"{letter}-{kind}" for letter in letters]
        position, last_end, last_type = end, end, kind
    return result


def _goes_on(before: str, label: str) -> bool:
    same_type = before.partition("-")[2] == label.partition("-")[2]
    return same_type and label[0] in "IMEL" and before[0] not in "ELSU" and before != "O"


def _hashed_views(form: str, num_rows: int) -> list[int]:
    lower = form.lower()
    shape: list[str] = []
    for char in form[:100]:
        letter = ("X" if char.isupper() else "x") if char.isalpha() else char
        kind = "d" if char.isdigit() else letter
        if shape[-4:] != [kind] * 4:
            shape.append(kind)
    views = [lower[:1], lower[:2], lower[:3], lower[-1:], lower[-2:], lower[-3:], "".join(shape)]
    return [
        1 + crc32(view.encode("utf-8", "surrogatepass"), kind) % (num_rows - 1)
        for kind, view in enumerate(views)
    ]


def _numbered(tables: Mapping[str, Array], *names: str) -> dict[str, int]:
    """Number the strings of packed tables from 1 on: their UTF-8 text and characters of each."""
    ids: dict[str, int] = {}
    for name in names:
        text = tables[f"{name}.bytes"].tobytes().decode("utf-8", "surrogatepass")
        start = 0
        for length in tables[f"{name}.lengths"].tolist():
            ids[text[start : start + length]] = len(ids) + 1
            start += length
    return ids


def _engine(
    folder: Path, engine: str, graph: str, settings: Mapping[str, Any]
) -> Callable[[Mapping[str, Array]], Array]:
    if engine in ("auto", "onnxruntime") and (folder / graph).exists():
        try:
            import onnxruntime
        except ImportError:
            if engine == "onnxruntime":
                raise
        else:
            session = onnxruntime.InferenceSession(
                str(folder / graph), providers=["CPUExecutionProvider"]
            )
            names = [given.name for given in session.get_inputs()]
            return lambda inputs: session.run(None, {name: inputs[name] for name in names})[0]
    with np.load(folder / "weights.npz", allow_pickle=False) as file:
        weights = {name: weight.astype(np.float32) for name, weight in file.items()}
    networks = [NumpyNetwork(weights, settings)]
    for number in range(settings["members"] - 1):
        prefix = f"others.{number}."
        own = {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}
        networks.append(NumpyNetwork({**weights, **own}, settings))
    return lambda inputs: np.mean([network.emissions(inputs) for network in networks], axis=0)


class NumpyNetwork:
    """The network's forward pass, from ids to emissions, in numpy.

    Args:
        weights: by their names in the model file.
        settings: ``settings.json``.
    """

    def __init__(self, weights: Mapping[str, Array], settings: Mapping[str, Any]) -> None:
        self._weights, self._settings = weights, settings
        self._words = np.concatenate(
            [weights["word_embeddings.weight"], weights["word_embeddings.stored"]]
        )

    def emissions(self, inputs: Mapping[str, Array]) -> Array:
        """Return the (batch, time, labels) scores of a batch of ids."""
        weights, lengths = self._weights, inputs["lengths"]
        parts = [self._words[inputs["words"]], self._encode_chars(inputs["chars"])]
        views = inputs["form_features"]
        first = np.arange(views.shape[1]) * self._settings["feature_rows"]
        parts.append(weights["form_embeddings.weight"][views + first].reshape(len(views), -1))
        states = np.concatenate(parts, axis=1)[inputs["index"]]  # (batch, time, size)
        for name, module in self._settings["columns"].items():
            values = weights[f"column_embeddings.{module}.weight"][inputs[f"column.{name}"]]
            states = np.concatenate([states, values], axis=2)
        rows, steps = np.arange(len(lengths))[:, None], np.arange(states.shape[1])
        flipped = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
        for layer in range(self._settings["lstm_layers"]):
            ahead = self._lstm(f"lstm.forward_layers.{layer}", states)
            behind = self._lstm(f"lstm.backward_layers.{layer}", states[rows, flipped])
            states = np.concatenate([ahead, behind[rows, flipped]], axis=2)
        scores: Array = states @ weights["projection.weight"].T + weights["projection.bias"]
        return scores

    def _encode_chars(self, chars: Array) -> Array:
        kind = self._settings["char_encoder"]
        if kind == "none":
            return np.zeros((len(chars), 0), dtype=np.float32)
        table = self._weights["char_encoder.embedding.weight"]
        inside = chars > 0
        if kind == "cnn":
            width = self._settings["char_width"]
            left = (width - 1) // 2
            vectors = table[np.pad(chars, ((0, 0), (left, width - 1 - left)))]
            windows = np.lib.stride_tricks.sliding_window_view(vectors, width, axis=1)
            kernel = self._weights["char_encoder.convolution.weight"]
            scores = windows.reshape(*chars.shape, -1) @ kernel.T
            best: Array = np.where(inside[:, :, None], scores, -np.inf).max(axis=1)
            best = np.where(inside[:, :1], best, np.float32(0))
            return best + self._weights["char_encoder.convolution.bias"]
        lengths = inside.sum(1)
        rows, steps = np.arange(len(chars)), np.arange(chars.shape[1])
        last = np.maximum(lengths - 1, 0)
        flipped = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
        vectors = table[chars]
        ahead = self._lstm("char_encoder.forward_lstm", vectors)[rows, last]
        behind = self._lstm("char_encoder.backward_lstm", vectors[rows[:, None], flipped])
        return np.concatenate([ahead, behind[rows, last]], axis=1)

    def _lstm(self, name: str, inputs: Array) -> Array:
        """Run one LSTM in one direction; gates in the order input, forget, cell, output."""
        weights = self._weights
        recurrent = weights[f"{name}.weight_hh_l0"].T
        bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
        gates = inputs @ weights[f"{name}.weight_ih_l0"].T + bias  # (batch, time, 4 x hidden)
        hidden = np.zeros((len(inputs), len(recurrent)), dtype=np.float32)
        cell, outputs = hidden, []
        for step in range(inputs.shape[1]):
            parts = np.split(gates[:, step] + hidden @ recurrent, 4, axis=1)
            admit, keep, show = (_sigmoid(parts[gate]) for gate in (0, 1, 3))
            cell = keep * cell + admit * np.tanh(parts[2])
            hidden = show * np.tanh(cell)
            outputs.append(hidden)
        return np.stack(outputs, axis=1)


def _sigmoid(values: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)), dtype=np.float32)


def _label_file(path: str) -> None:
    text = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    lines = text.decode("utf-8-sig").split("\n")
    tokens = [line.rstrip("\r").split("\t")[0] if line.strip(" \t\r") else "" for line in lines]
    sentences: list[list[str]] = [[]]
    for token in tokens:
        if token:
            sentences[-1].append(token)
        elif sentences[-1]:
            sentences.append([])
    labels = iter([x for row in Predictor(Path(__file__).parent).predict(sentences) for x in row])
    written = [f"{token}\t{next(labels)}" if token else "" for token in tokens]
    sys.stdout.buffer.write("\n".join(written).encode("utf-8"))


def main() -> None:
    """Label the file that the command line names."""
    parser = argparse.ArgumentParser(
        description="Labels a file with a token a line and an empty line between sentences; "
        "writes each token, a tab and its label."
    )
    parser.add_argument("file", nargs="?", default="-", help="UTF-8; - or nothing: standard input")
    path = parser.parse_args().file
    try:
        _label_file(path)
    except OSError as error:
        sys.exit(f"error: {path}: {error.strerror}")
    except UnicodeDecodeError as error:
        sys.exit(
            f"error: {path}: byte 0x{error.object[error.start]:02x} at offset {error.start} "
            "is not UTF-8"
        )
    except ValueError as error:
        sys.exit(f"error: {path}: {error}")


if __name__ == "__main__":
    main()
