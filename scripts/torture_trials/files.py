"""Files that are not what they should be: models, configurations, corpora, inputs."""

import io
import random
import shutil
from contextlib import redirect_stderr
from pathlib import Path

from bilstm_crf import Tagger
from bilstm_crf.commands.predict import predict_command
from bilstm_crf.commands.predict_options import PredictOptions
from bilstm_crf.commands.train import resume
from bilstm_crf.config import load_config
from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.label_ids import learn_labels
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.readers import read_split
from bilstm_crf.errors import BilstmCrfError
from torture_trials.ground import CONFIG, Ground, corpus
from torture_trials.mutation import spoil_archive, spoil_bytes, spoil_text
from torture_trials.tally import Tally

SENTENCES = [["Ada", "Berg", "went", "to", "Fen", "."], ["", "x" * 500, "小林"]]


def _load_and_predict(path: Path) -> str:
    try:
        labels = Tagger.load(path).predict_tokens(SENTENCES)
    except BilstmCrfError as error:
        return "refused" if "\n" not in str(error) else "traceback"
    sizes = [len(sentence) for sentence in labels]
    return "worked" if sizes == [len(sentence) for sentence in SENTENCES] else "lost"


def model_bytes(ground: Ground) -> Tally:
    """Model files with bytes changed, cut or moved."""
    whole = (ground.run / "model.pt").read_bytes()

    def attempt(rng: random.Random, path: Path) -> str:
        path.write_bytes(spoil_bytes(whole, rng))
        return _load_and_predict(path)

    tally = Tally("model bytes")
    ground.attempt_all(tally, ground.times(5000), attempt)
    return tally


def model_content(ground: Ground) -> Tally:
    """Model files with one part changed and right checksums."""
    whole = (ground.run / "model.pt").read_bytes()

    def attempt(rng: random.Random, path: Path) -> str:
        path.write_bytes(spoil_archive(whole, rng))
        return _load_and_predict(path)

    tally = Tally("model content")
    ground.attempt_all(tally, ground.times(5000), attempt)
    return tally


def states(ground: Ground) -> Tally:
    """Training states with one part changed and right checksums, resumed."""
    stopped = ground.stopped_run()
    whole = (stopped / "state.pt").read_bytes()

    def attempt(rng: random.Random, path: Path) -> str:
        path.write_bytes(spoil_archive(whole, rng))
        run = path.with_suffix(".run")
        run.mkdir()
        shutil.copyfile(path, run / "state.pt")
        try:
            with redirect_stderr(io.StringIO()):
                resume(run, device="cpu")
        except BilstmCrfError:
            return "refused"
        finally:
            shutil.rmtree(run)
        return "worked"

    tally = Tally("states")
    ground.attempt_all(tally, ground.times(500), attempt)
    return tally


def configs(ground: Ground) -> Tally:
    """Configurations with lines and words changed."""

    def attempt(rng: random.Random, path: Path) -> str:
        text = CONFIG
        for _ in range(rng.choice((1, 2))):
            text = spoil_text(text, rng)
        data = text.encode("utf-8", "surrogatepass")
        path.write_bytes(data if rng.random() < 0.9 else spoil_bytes(data, rng))
        try:
            config = load_config(path)
        except BilstmCrfError:
            return "refused"
        path.write_text(config.to_yaml(), encoding="utf-8")
        return "worked" if load_config(path) == config else "different"

    tally = Tally("configs")
    ground.attempt_all(tally, ground.times(5000), attempt)
    return tally


def corpora(ground: Ground) -> Tally:
    """Training corpora with rows, labels and bytes changed."""

    def attempt(rng: random.Random, path: Path) -> str:
        text = corpus(12, rng)
        for _ in range(rng.choice((1, 2, 5))):
            text = spoil_text(text, rng)
        data = text.encode("utf-8", "surrogatepass")
        path.write_bytes(data if rng.random() < 0.8 else spoil_bytes(data, rng))
        try:
            read = encode(read_split([path]))
            if len(read):
                learn_labels(read, LabelsSection())
        except BilstmCrfError:
            return "refused"
        return "worked"

    tally = Tally("corpora")
    ground.attempt_all(tally, ground.times(5000), attempt)
    return tally


def inputs(ground: Ground) -> Tally:
    """Token lines to predict, with anything in them: every line must come back."""
    model = ground.run / "model.pt"

    def attempt(rng: random.Random, path: Path) -> str:
        text = "\n".join(row.partition(" ")[0] for row in corpus(12, rng).split("\n"))
        for _ in range(rng.choice((1, 2, 5))):
            text = spoil_text(text, rng)
        data = text.encode("utf-8", "surrogatepass")
        path.write_bytes(data if rng.random() < 0.8 else spoil_bytes(data, rng))
        output = path.with_suffix(".out")
        try:
            with redirect_stderr(io.StringIO()):
                options = PredictOptions(input_format="tokens", output_format="conll")
                predict_command(model, [str(path)], str(output), options)
        except BilstmCrfError:
            return "refused"
        before, after = path.read_bytes().split(b"\n"), output.read_bytes().split(b"\n")
        output.unlink()
        kept = len(before) == len(after) and all(
            new.startswith(old.rstrip(b"\r")) for old, new in zip(before, after, strict=True)
        )
        return "worked" if kept else "lost"

    tally = Tally("inputs")
    ground.attempt_all(tally, ground.times(3000), attempt)
    return tally


def texts(ground: Ground) -> Tally:
    """Running text to predict, with anything in it: every letter must come back in a token."""
    model = ground.run / "model.pt"

    def attempt(rng: random.Random, path: Path) -> str:
        rows = corpus(12, rng).split("\n\n")
        text = "\n".join(" ".join(row.split(" ")[0] for row in one.split("\n")) for one in rows)
        for _ in range(rng.choice((1, 2, 5))):
            text = spoil_text(text, rng)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        output = path.with_suffix(".out")
        try:
            with redirect_stderr(io.StringIO()):
                options = PredictOptions(input_format="text", output_format="tokens")
                predict_command(model, [str(path)], str(output), options)
        except BilstmCrfError:
            return "refused"
        lines = output.read_bytes().decode("utf-8").split("\n")
        output.unlink()
        tokens = "".join(line.rpartition("\t")[0] for line in lines)
        expected = text.removeprefix("\ufeff")  # a byte order mark is no text
        return "worked" if "".join(tokens.split()) == "".join(expected.split()) else "lost"

    tally = Tally("texts")
    ground.attempt_all(tally, ground.times(3000), attempt)
    return tally


TRIALS = {
    "model-bytes": model_bytes,
    "model-content": model_content,
    "states": states,
    "configs": configs,
    "corpora": corpora,
    "inputs": inputs,
    "texts": texts,
}
