"""Which arithmetic a network trains in."""

import torch


def trains_in_bf16(precision: str, device: torch.device) -> bool:
    """Return whether products are computed in bfloat16.

    Args:
        precision: ``float32``, ``bf16`` or ``auto``: bf16 where the device has instructions for
            it. Without them it is slower than float32; with them training took a tenth to a third
            less time. The rule asks the device and not the clock, so that runs can be repeated.
        device: where the network is.
    """
    if precision != "auto":
        return precision == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return False
