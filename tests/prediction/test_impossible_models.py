"""Archives whose content no model can have: refused before it takes memory or time."""

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from model_fixture import refused

from bilstm_crf.prediction.packed_strings import pack_strings


def repeated_lists(content: dict[str, Any]) -> None:
    value: list[Any] = ["ha"] * 10
    for _ in range(30):
        value = [value] * 10
    content["record"] = {"laughs": value}


def deep_lists(content: dict[str, Any]) -> None:
    value: list[Any] = []
    for _ in range(400):
        value = [value]
    content["record"] = {"deep": value}


def huge_number(content: dict[str, Any]) -> None:
    content["record"] = {"seed": 10**5000}


def tensor_of_one_number(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.zeros(1).expand(10**6, 10**6)


def tensor_on_no_device(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.zeros(10**6, 10**6, device="meta")


def sparse_tensor(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.sparse_coo_tensor(
        torch.zeros(2, 1, dtype=torch.int64), torch.ones(1), (10**6, 10**6), check_invariants=False
    )


def a_parameter(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.nn.Parameter(torch.zeros(2))


def weights_of_other_sizes(content: dict[str, Any]) -> None:
    content["weights"]["projection.bias"] = torch.zeros(3)


def weights_missing(content: dict[str, Any]) -> None:
    del content["weights"]["projection.bias"]


def weights_of_integers(content: dict[str, Any]) -> None:
    weights = content["weights"]
    weights["projection.bias"] = weights["projection.bias"].long()


def weights_of_text(content: dict[str, Any]) -> None:
    content["weights"]["projection.bias"] = "text"


def no_weights(content: dict[str, Any]) -> None:
    content["weights"] = [1, 2]


def lstm_beyond_all_limits(content: dict[str, Any]) -> None:
    content["model"]["lstm"]["hidden_size"] = 10**9


def lstm_of_a_hundred_gigabytes(content: dict[str, Any]) -> None:
    content["model"]["lstm"] = {**content["model"]["lstm"], "hidden_size": 8192, "layers": 16}


def unknown_setting(content: dict[str, Any]) -> None:
    content["model"]["attention"] = True


def settings_of_another_kind(content: dict[str, Any]) -> None:
    content["model"] = "large"


def too_many_labels(content: dict[str, Any]) -> None:
    content["labels"] = ["O"] + [f"B-{number}" for number in range(100_000)]


def labels_twice(content: dict[str, Any]) -> None:
    content["labels"] = content["labels"] * 2


def labels_that_are_none(content: dict[str, Any]) -> None:
    content["labels"] = ["O", "X", 3]


def labels_as_a_number(content: dict[str, Any]) -> None:
    content["labels"] = 7


def unknown_scheme(content: dict[str, Any]) -> None:
    content["scheme"] = "BILOU2"


def scheme_as_a_list(content: dict[str, Any]) -> None:
    content["file_scheme"] = ["BIO"]


def words_twice(content: dict[str, Any]) -> None:
    content["trained_words"] = pack_strings(["a", "a"])


def words_of_floats(content: dict[str, Any]) -> None:
    content["trained_words"]["bytes"] = content["trained_words"]["bytes"].float()


def words_whose_lengths_do_not_fit(content: dict[str, Any]) -> None:
    content["trained_words"]["lengths"][0] += 1


def words_of_negative_length(content: dict[str, Any]) -> None:
    lengths = content["trained_words"]["lengths"]
    lengths[0], lengths[1] = lengths[0] + 20, lengths[1] - 20


def words_that_are_no_text(content: dict[str, Any]) -> None:
    content["chars"]["bytes"][:] = 255


def words_as_a_list(content: dict[str, Any]) -> None:
    content["chars"] = ["a", "b"]


def columns_as_a_list(content: dict[str, Any]) -> None:
    content["columns"] = ["pos"]


def no_temperature(content: dict[str, Any]) -> None:
    content["temperature"] = float("nan")


def temperature_zero(content: dict[str, Any]) -> None:
    content["temperature"] = 0.0


def record_as_text(content: dict[str, Any]) -> None:
    content["record"] = "trained on a Tuesday"


def entry_missing(content: dict[str, Any]) -> None:
    del content["chars"]


CHANGES = [
    repeated_lists, deep_lists, huge_number, tensor_of_one_number, tensor_on_no_device,
    sparse_tensor, a_parameter, weights_of_other_sizes, weights_missing, weights_of_integers,
    weights_of_text, no_weights, lstm_beyond_all_limits, lstm_of_a_hundred_gigabytes,
    unknown_setting, settings_of_another_kind, too_many_labels, labels_twice,
    labels_that_are_none, labels_as_a_number, unknown_scheme, scheme_as_a_list, words_twice,
    words_of_floats, words_whose_lengths_do_not_fit, words_of_negative_length,
    words_that_are_no_text, words_as_a_list, columns_as_a_list, no_temperature, temperature_zero,
    record_as_text, entry_missing,
]  # fmt: skip


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let this process grow by at most 2 GB."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = used * resource.getpagesize() + 2 * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_content_that_no_model_has_is_refused(
    content: dict[str, Any], tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    change(content)
    torch.save(content, tmp_path / "model.pt")
    refused(tmp_path / "model.pt")
