"""The network up to the emissions as an ONNX graph, and the same graph with 8-bit weights.

Run as a program, ``python -m bilstm_crf.prediction.onnx_graph MODEL.pt OUT.onnx``, because a second
export in one process takes the example's length for the length of every sentence (torch 2.13).
"""

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from bilstm_crf.corpus.batches import Batch
from bilstm_crf.corpus.forms import FEATURE_KINDS
from bilstm_crf.errors import RunError
from bilstm_crf.model.tagger import TaggerNetwork
from bilstm_crf.prediction.model_file import load_model


class _EmissionsGraph(nn.Module):
    """The network with tensors instead of a Batch, as the exporter wants it."""

    def __init__(self, network: TaggerNetwork):
        super().__init__()
        self.network = network

    def forward(
        self,
        words: Tensor,
        chars: Tensor,
        form_features: Tensor,
        columns: list[Tensor],
        index: Tensor,
        lengths: Tensor,
    ) -> Tensor:
        named = dict(zip(self.network.columns, columns, strict=True))
        batch = Batch(words, chars, form_features, index, lengths, columns=named)
        return self.network.emissions(batch)


def write_graph(network: TaggerNetwork, path: Path) -> None:
    """Write the graph of a network; right only for the first network of a process."""
    # Sizes that all differ, so that the exporter takes no two axes for the same.
    forms, longest, batch, time = 7, 5, 3, 6
    index = torch.zeros(batch, time, dtype=torch.int64)
    example = (
        torch.zeros(forms, dtype=torch.int64),
        torch.ones(forms, longest, dtype=torch.int64),
        torch.zeros(forms, len(FEATURE_KINDS), dtype=torch.int64),
        [torch.zeros_like(index) for _ in network.columns],
        index,
        torch.tensor([time, 2, 1]),
    )
    dim = torch.export.Dim
    of_forms, of_batch, of_time = {0: dim("forms")}, {0: dim("batch")}, {1: dim("time")}
    shapes = (
        of_forms,
        {**of_forms, 1: dim("chars")},
        of_forms,
        [{**of_batch, **of_time} for _ in network.columns],
        {**of_batch, **of_time},
        of_batch,
    )
    columns = [f"column.{name}" for name in network.columns]
    names = ["words", "chars", "form_features", *columns, "index", "lengths"]
    with _quiet():
        program = torch.onnx.export(
            _EmissionsGraph(network).eval(),
            example,
            dynamo=True,
            input_names=names,
            output_names=["emissions"],
            dynamic_shapes=shapes,
            verbose=False,
        )
    if program is None:
        raise RunError(f"{path}: torch's exporter gave no graph")
    proto = program.model_proto
    # The exporter notes the example's own sizes on inner values; they hold for no other batch.
    del proto.graph.value_info[:]
    for axis, name in enumerate(("batch", "time")):
        proto.graph.output[0].type.tensor_type.shape.dim[axis].dim_param = name
    path.write_bytes(proto.SerializeToString())


def write_int8_graph(graph: Path, target: Path) -> None:
    """Write a graph again with weights in 8 bits."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with _quiet():
        quantize_dynamic(graph, target, weight_type=QuantType.QInt8)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporters' progress lines, warnings and log records off the screen."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


if __name__ == "__main__":
    write_graph(load_model(sys.argv[1]).network(), Path(sys.argv[2]))
