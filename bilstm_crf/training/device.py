"""Which device to compute on."""

import torch

from bilstm_crf.errors import ConfigError


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """Return the device of a name.

    Args:
        name: ``auto`` (CUDA, else Apple's MPS, else the CPU), ``cpu``, ``cuda``, ``cuda:N`` or
            ``mps``.
        local_rank: number of this process on its machine; it takes the GPU of that number.

    Raises:
        ConfigError: no such device is here.
    """
    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        else:
            name = "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"--device {name}: expected auto, cpu, cuda, cuda:N or mps") from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError(f"--device {name}: no CUDA device here; use --device cpu")
        number = local_rank if device.index is None else device.index
        if number >= torch.cuda.device_count():
            raise ConfigError(
                f"--device {name}: there are {torch.cuda.device_count()} CUDA devices here"
            )
        return torch.device("cuda", number)
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("--device mps: no Apple GPU here; use --device cpu")
    if device.type not in ("cpu", "mps"):
        raise ConfigError(f"--device {name}: expected auto, cpu, cuda, cuda:N or mps")
    return device
