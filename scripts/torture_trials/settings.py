"""Settings at the ends of what is allowed, in all mixtures: train, or be refused in words."""

import io
import random
import shutil
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from bilstm_crf import Tagger, train
from bilstm_crf.config import load_config
from bilstm_crf.errors import BilstmCrfError
from bilstm_crf.strict_yaml import write_yaml
from torture_trials.ground import Ground
from torture_trials.tally import Tally

CHOICES: dict[str, list[Any]] = {
    "seed": [0, 2**31 - 1],
    "labels.model_scheme": ["IO", "IOB1", "BIO", "BIOES", "BMES", "BILOU"],
    "model.word_embeddings.size": [0, 1, 12],
    "model.word_embeddings.trainable": [True, False],
    "model.word_embeddings.min_count": [1, 2, 1000],
    "model.char_encoder": [
        "none", "cnn", "lstm", {"type": "cnn", "size": 1, "filters": 1, "width": 15},
        {"type": "cnn", "width": 1, "longest": 4}, {"type": "lstm", "size": 1, "hidden_size": 1},
    ],
    "model.form_embeddings.size": [0, 3],
    "model.lstm": [{"hidden_size": 1}, {"hidden_size": 5, "layers": 3}],
    "model.members": [1, 2],
    "model.crf.decoding": ["viterbi", "expected_f1"],
    "model.crf.entity_threshold": ["auto", 1e-6, 0.999999],
    "model.dropout.kind": ["locked", "plain"],
    "model.dropout.inputs": [0, 0.5, 0.999999],
    "model.dropout.outputs": [0, 0.5, 0.999999],
    "model.dropout.words": [0, 0.5, 0.999999],
    "model.head": ["crf", "softmax"],
    "model.crf.constraints": ["none", "decode", "train_and_decode"],
    "model.crf.outside_bias": [-1e30, 0, 1e30],
    "data.dev": ["dev.conll", None],
    "training.batch_size": [1, 3, 100_000],
    "training.batch_tokens": [1, None],
    "training.accumulate": [1, 1000],
    "training.optimizer": [
        "adamw", "adam", "sgd", {"type": "adamw", "learning_rate": 100, "weight_decay": 1},
        {"type": "adam", "betas": [0, 0]}, {"type": "adamw", "betas": [0.999999, 0.999999]},
        {"type": "sgd", "learning_rate": 1000, "momentum": 0.999, "weight_decay": 1},
        {"type": "adamw", "learning_rate": 1e-300},
    ],
    "training.schedule": [
        "constant", "linear", "cosine", "decay", "plateau", {"type": "decay", "rate": 1e300},
        {"type": "cosine", "warm_up": 2, "final": 1}, {"type": "plateau", "patience": 1},
    ],
    "training.clip": [None, 1e-300, 1e300],
    "training.patience": [None, 1],
    "training.average": [0, 0.5, 0.999999],
    "training.precision": ["float32", "bf16", "auto"],
    "training.checkpoint_steps": [None, 1],
    "training.half": [True, False],
}  # fmt: skip


def settings(ground: Ground) -> Tally:
    """Mixtures of settings, each trained for two epochs on a few sentences."""

    def attempt(rng: random.Random, path: Path) -> str:
        chosen = {key: rng.choice(values) for key, values in CHOICES.items() if rng.random() < 0.5}
        given = {
            "data.train": str(ground.folder / "dev.conll"),
            "data.test": "dev.conll",
            "training.epochs": 2,
            "training.epoch_steps": 1,
            "model.lstm.hidden_size": 4,
            **chosen,
        }
        overrides = [f"{k}={write_yaml(v, one_line=True).strip()}" for k, v in given.items()]
        path.write_text("data: {}\n# " + "\n# ".join(overrides) + "\n", encoding="utf-8")
        run = path.with_suffix(".run")
        try:
            with redirect_stderr(io.StringIO()):
                model = train(load_config(path, overrides), run, device="cpu")
                labels = Tagger.load(model).predict_tokens([["Ada", "went", "to", "Fen"]])
        except BilstmCrfError:
            return "refused"
        finally:
            shutil.rmtree(run, ignore_errors=True)
        return "worked" if len(labels[0]) == 4 else "lost"

    tally = Tally("settings")
    ground.attempt_all(tally, ground.times(500), attempt)
    return tally


TRIALS = {"settings": settings}
