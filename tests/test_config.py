"""The configuration: what loads, what is refused and in which words, and where paths start."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.commands.config import defaults_as_yaml
from bilstm_crf.config import Config, load_config, load_training_config
from bilstm_crf.config_errors import NAMES_ELSEWHERE, all_keys
from bilstm_crf.errors import ConfigError
from bilstm_crf.section import Section, sections_in


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_config(text: str, name: str = "a.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write_config


def mistakes(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides)
    return [line.replace(str(path), path.name) for line in str(caught.value).splitlines()]


# Numbers


@pytest.mark.parametrize("rate", ["0.01", "1e-2", "1E-2", "1.e-2", '"0.01"'])
def test_learning_rate_in_any_notation(write: Any, rate: str) -> None:
    path = write(f"data: {{train: x}}\ntraining:\n  optimizer: {{learning_rate: {rate}}}\n")
    assert load_config(path).training.optimizer.learning_rate == 0.01


def test_whole_numbers(write: Any) -> None:
    assert load_config(write("data: {}\ntraining: {epochs: 1e1}\n")).training.epochs == 10


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("optimizer", "{learning_rate: fast}", "learning_rate: should be a valid number"),
        ("optimizer", "{learning_rate: '0,01'}", "found '0,01'"),
        ("optimizer", "{learning_rate: true}", "true and false have no meaning here, found true"),
        ("optimizer", "{learning_rate: -1}", "should be greater than 0, found -1"),
        ("optimizer", "{learning_rate: 0}", "should be greater than 0, found 0"),
        ("optimizer", "{betas: [0.9, 1]}", "betas.1: should be less than 1, found 1"),
        ("clip", ".inf", "clip: should be a valid number"),
        ("clip", "nan", "clip: should be a finite number, found 'nan'"),
        ("epochs", "2.5", "epochs: should be a valid integer"),
        ("epochs", "0", "should be greater than or equal to 1, found 0"),
        ("epochs", "[3]", "epochs: should be a valid integer, found [3]"),
        ("optimizer", "3", "expected a section of keys (betas, learning_rate, momentum"),
        ("optimizer", "adagrad", "optimizer.type: 'adagrad' is not one of"),
        ("precision", "half", "should be 'auto', 'float32' or 'bf16', found 'half'"),
    ],
)
def test_a_wrong_value_is_named_with_file_line_and_key(
    write: Any, key: str, value: str, said: str
) -> None:
    found = mistakes(write(f"data: {{}}\ntraining:\n  {key}: {value}\n"))
    assert len(found) == 1
    assert found[0].startswith(f"a.yaml:3: training.{key}")
    assert said in found[0]


# Keys


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sede: 1", "a.yaml:2: sede: unknown key; did you mean 'seed'?"),
        ("model: {dropuot: {}}", "a.yaml:2: model.dropuot: unknown key; did you mean 'dropout'?"),
        ("training: {epoch: 3}", "a.yaml:2: training.epoch: unknown key; did you mean 'epochs'?"),
        (
            "training: {learning_rate: 1}",
            "a.yaml:2: training.learning_rate: unknown key; "
            "did you mean training.optimizer.learning_rate?",
        ),
        ("lr: 0.5", "a.yaml:2: lr: unknown key; did you mean training.optimizer.learning_rate?"),
        ("epochs: 3", "a.yaml:2: epochs: unknown key; did you mean training.epochs?"),
        (
            "model: {lstm: {zzz: 3}}",
            "a.yaml:2: model.lstm.zzz: unknown key; known keys: hidden_size, layers",
        ),
        (
            "training: {optimizer: {type: sgd, betas: [0.9, 0.9]}}",
            "a.yaml:2: training.optimizer.betas: unknown key; known keys: learning_rate, "
            "momentum, type, weight_decay",
        ),
    ],
)
def test_an_unknown_key_is_named_with_what_was_meant(write: Any, text: str, said: str) -> None:
    assert mistakes(write(f"data: {{}}\n{text}\n")) == [said]


def test_all_mistakes_at_once_in_the_order_of_the_file(write: Any) -> None:
    path = write(
        "seeed: 1\n"
        "data: {header: perhaps, features: {pos: [1]}}\n"
        "labels: {outside: 0}\n"
        "model:\n"
        "  word_embeddings: {vectors: [1]}\n"
        "  dropout: 0.5\n"
    )
    assert mistakes(path, "training.epochs=many") == [
        "a.yaml:1: seeed: unknown key; did you mean 'seed'?",
        "a.yaml:2: data.header: should be a valid boolean, unable to interpret input or should be "
        "'auto', found 'perhaps'",
        "a.yaml:2: data.features.pos: should be a valid integer or should be a valid string, "
        "found [1]",
        "a.yaml:3: labels.outside: should be text; put quotes around it: '0'",
        "a.yaml:5: model.word_embeddings.vectors.0: should be text; put quotes around it: '1'",
        "a.yaml:6: model.dropout: expected a section of keys (inputs, kind, outputs, "
        "rare_words, words), found 0.5",
        "--set training.epochs=many: training.epochs: should be a valid integer, unable to parse "
        "string as an integer, found 'many'",
    ]


def test_rules_between_keys_name_both(write: Any) -> None:
    training = write("data: {}\ntraining:\n  epochs: 2\n  schedule: {warm_up: 3}\n")
    assert mistakes(training) == [
        "a.yaml:2: training: schedule.warm_up (3) is more than training.epochs (2)"
    ]
    assert mistakes(write("data: {train: x}\ntraining: {patience: 2}\n")) == [
        "a.yaml:2: training.patience needs data.dev, which chooses the best epoch"
    ]
    assert mistakes(write("data: {train: x}\ntraining: {schedule: plateau}\n")) == [
        "a.yaml:2: training.schedule plateau needs data.dev, whose F1 it follows"
    ]


def test_a_rule_broken_by_the_command_line_names_the_option(write: Any) -> None:
    path = write("data: {train: x}\nmodel: {crf: {margin: 1}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path, ["model.head=softmax", "model.crf.decoding=expected_f1"])
    place, _, rule = str(caught.value).partition(": ")
    assert place == "--set model.crf.decoding=expected_f1"
    assert rule == "model.crf.decoding: expected_f1 needs model.head: crf"


def test_a_network_that_sees_nothing_is_refused(write: Any) -> None:
    blind = "data: {}\nmodel: {word_embeddings: {size: 0}, char_encoder: none"
    forms = "form_embeddings: {size: 0}}\n"
    assert "leave the network nothing to see" in mistakes(write(f"{blind}, {forms}"))[0]
    seeing = write(f"{blind}, form_embeddings: {{size: 2}}}}\n")
    assert load_config(seeing).model.form_embeddings.size == 2


def test_the_data_section_has_no_default(write: Any) -> None:
    assert mistakes(write("seed: 1\n")) == ["a.yaml: data: missing, and it has no default"]


def test_names_of_other_programs_point_to_keys_that_exist() -> None:
    assert set(NAMES_ELSEWHERE.values()) <= set(all_keys(Config))
    assert not set(NAMES_ELSEWHERE) & {key for key in all_keys(Config) if "." not in key}


# Unions, empty sections, overrides


def test_a_member_of_a_union_by_its_type_or_by_its_name_alone(write: Any) -> None:
    short = load_config(write("data: {}\nmodel: {char_encoder: lstm}\n"))
    whole = load_config(write("data: {}\nmodel: {char_encoder: {type: lstm}}\n", "b.yaml"))
    assert short.model == whole.model
    assert short.model.char_encoder.type == "lstm"


def test_a_section_whose_keys_are_all_comments_has_its_defaults(write: Any) -> None:
    path = write("data: {train: x}\ntraining:\n  # epochs: 3\nmodel:\n  lstm:\n  char_encoder:\n")
    assert load_config(path) == load_config(write("data: {train: x}\n", "b.yaml"))


def test_overrides_win_over_the_file(write: Any) -> None:
    path = write("data: {}\ntraining: {epochs: 3, optimizer: sgd}\n")
    config = load_config(
        path,
        ["training.epochs=7", "training.optimizer.learning_rate=5e-2", "model.char_encoder=none"],
    )
    assert config.training.epochs == 7
    assert config.training.optimizer.type == "sgd"
    assert config.training.optimizer.learning_rate == 0.05
    assert config.model.char_encoder.type == "none"


@pytest.mark.parametrize("override", ["epochs", "=3", "training..epochs=3", ".=1"])
def test_an_override_that_is_none(write: Any, override: str) -> None:
    assert mistakes(write("data: {}\n"), override) == [
        f"--set {override}: expected key=value, such as training.epochs=3"
    ]


# Paths


def test_paths_start_from_the_folder_of_the_file_wherever_one_stands(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        "data: {train: ../data/train.conll, dev: [d.conll, /abs/e.conll]}\n"
        "model: {word_embeddings: {vectors: v.txt}}\n"
        "output_dir: ../out\n",
        "project/conf/a.yaml",
    )
    monkeypatch.chdir(tmp_path)
    configs = [load_config(path), load_config("project/conf/a.yaml")]
    monkeypatch.chdir(tmp_path / "project" / "conf")
    configs.append(load_config("a.yaml"))
    assert configs[0] == configs[1] == configs[2]
    project = tmp_path / "project"
    assert configs[0].data.train == f"{project}/data/train.conll"
    assert configs[0].data.dev == [f"{project}/conf/d.conll", "/abs/e.conll"]
    assert configs[0].model.word_embeddings.vectors == f"{project}/conf/v.txt"
    assert configs[0].output_dir == f"{project}/out"


def test_all_missing_files_are_named_in_full(write: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "dev.conll").write_text("a O\n", encoding="utf-8")
    path = write(
        "data:\n  train: nowhere/train.conll\n  dev: [dev.conll, folder]\n  test: '*.tsv'\n"
        "model: {word_embeddings: {vectors: v.txt}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_training_config(path)
    assert str(caught.value).splitlines() == [
        f"{path}:2: data.train: {tmp_path}/nowhere/train.conll: no such file",
        f"{path}:3: data.dev: {tmp_path}/folder: is a folder; a file or a pattern is needed",
        f"{path}:4: data.test: {tmp_path}/*.tsv: no file matches this pattern",
        f"{path}:5: model.word_embeddings.vectors: {tmp_path}/v.txt: no such file",
    ]
    assert load_config(path).data.dev == [f"{tmp_path}/dev.conll", f"{tmp_path}/folder"]


@pytest.mark.parametrize("data", ["{}", "{train: }", "{train: []}"])
def test_training_needs_training_data(write: Any, data: str) -> None:
    with pytest.raises(ConfigError, match=r"a.yaml:1: data.train: missing; name the file"):
        load_training_config(write(f"data: {data}\n"))


# Out and in again


@given(
    seed=st.integers(0, 2**31 - 1),
    paths=st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1)),
    rate=st.floats(1e-300, 100, exclude_min=True),
    encoder=st.sampled_from(["cnn", "lstm", "none"]),
    schedule=st.sampled_from(["constant", "linear", "cosine", "decay"]),
    clip=st.none() | st.floats(1e-9, 1e300),
)
def test_a_written_configuration_loads_as_an_equal_one(
    tmp_path_factory: pytest.TempPathFactory, seed: int, paths: list[str], rate: float,
    encoder: str, schedule: str, clip: float | None,
) -> None:  # fmt: skip
    values = {
        "seed": seed,
        "data": {"train": ["/" + path for path in paths], "features": {"pos": 1, "x": "name"}},
        "model": {"char_encoder": encoder},
        "training": {
            "optimizer": {"learning_rate": rate}, "schedule": schedule, "clip": clip,
        },
    }  # fmt: skip
    config = Config.model_validate(values).resolve(Path("/"))
    file = tmp_path_factory.mktemp("round") / "a.yaml"
    file.write_text(config.to_yaml(), encoding="utf-8")
    assert load_config(file) == config


def test_the_printed_defaults_load_as_the_defaults(write: Any) -> None:
    filled = defaults_as_yaml().replace("  train: null", "  train: x.conll", 1)
    found = load_config(write(filled))
    assert found == load_config(write("data: {train: x.conll}\n", "b.yaml"))


def test_the_printed_defaults_show_and_explain_every_key() -> None:
    text = defaults_as_yaml()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.match(r" *[a-z_]+:( |$)", line):
            assert lines[number - 1].lstrip().startswith("# "), line
    shown = set(re.findall(r"^[ #]*([a-z_0-9]+):(?: |$)", text, re.MULTILINE))
    assert set(all_keys(Config).values()) <= shown
    assert yaml.safe_load(text)["training"]["optimizer"]["type"] == "adamw"


def test_every_key_has_a_docstring_or_is_a_section_with_one() -> None:
    unexplained = []

    def visit(section: type[Section], prefix: str) -> None:
        assert section.__doc__, prefix
        for name, field in section.model_fields.items():
            inner = sections_in(field.annotation)
            if not field.description and name != "type" and not inner:
                unexplained.append(prefix + name)
            for member in inner:
                visit(member, f"{prefix}{name}.")

    visit(Config, "")
    assert unexplained == []


def options(section: type[Section]) -> Iterator[tuple[str, str, object]]:
    """Yield key, explanation and allowed value for every value that a key lists."""
    for name, field in section.model_fields.items():
        kinds = [field.annotation]
        for kind in kinds:
            kinds += get_args(kind)
            if get_origin(kind) is Literal and name != "type":
                for value in get_args(kind):
                    yield f"{section.__name__}.{name}", field.description or "", value
        for member in sections_in(field.annotation):
            yield from options(member)


def test_explanations_name_every_value_there_is_to_choose_from() -> None:
    found = list(options(Config))
    assert len(found) > 20
    for key, explanation, value in found:
        assert re.search(rf"\b{value}\b", explanation), (key, value)
