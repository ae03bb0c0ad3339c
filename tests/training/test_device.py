"""Names of devices: which are here, and which are refused in words."""

import pytest
import torch

from bilstm_crf.errors import ConfigError
from bilstm_crf.training.device import choose_device


@pytest.mark.parametrize("name", ["cpu", "auto"])
def test_the_cpu_is_always_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device(name) == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "", "meta", "cpu cpu", "xla"])
def test_what_is_no_device_is_refused_with_what_is(name: str) -> None:
    with pytest.raises(ConfigError, match="expected auto, cpu, cuda, cuda:N or mps"):
        choose_device(name)


def test_a_gpu_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="no CUDA device here; use --device cpu"):
        choose_device("cuda:1")
    with pytest.raises(ConfigError, match="no Apple GPU here; use --device cpu"):
        choose_device("mps")


def test_each_process_takes_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto", local_rank=1) == torch.device("cuda", 1)
    assert choose_device("cuda:0", local_rank=1) == torch.device("cuda", 0)
    with pytest.raises(ConfigError, match="there are 2 CUDA devices here"):
        choose_device("cuda:2")
