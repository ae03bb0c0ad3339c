"""Random small CRFs with padded batches, and the oracle's view of them."""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from reference import ReferenceCRF
from torch import Tensor

from bilstm_crf.model.crf import CRF


@dataclass
class Case:
    """A CRF, a padded batch and the labels that its tokens may have."""

    crf: CRF
    emissions: Tensor
    lengths: Tensor
    labels: Tensor
    allowed: Tensor
    generator: torch.Generator

    @property
    def mask(self) -> Tensor:
        return torch.arange(self.emissions.shape[1]) < self.lengths[:, None]

    @property
    def tolerance(self) -> dict[str, float]:
        size = 1e-10 if self.emissions.dtype == torch.float64 else 1e-5
        return {"rtol": size, "atol": size}

    def sentences(self):
        """Yield the index, length and oracle of each sentence."""
        for index, length in enumerate(self.lengths.tolist()):
            yield index, length, self.reference(index)

    def reference(self, index: int, *, restricted: bool = False) -> ReferenceCRF:
        length = int(self.lengths[index])
        return ReferenceCRF(
            self.crf.start_transitions.tolist(),
            self.crf.transitions.tolist(),
            self.crf.end_transitions.tolist(),
            self.emissions[index, :length].tolist(),
            self.allowed[index, :length].tolist() if restricted else None,
        )

    def path(self, index: int) -> tuple[int, ...]:
        return tuple(self.labels[index, : self.lengths[index]].tolist())


def random_crf(
    num_labels: int, generator: torch.Generator, *, scale: float = 1.0, dtype=torch.float64
) -> CRF:
    """Return a CRF with normally distributed scores."""
    crf = CRF(num_labels).to(dtype)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_(0, scale, generator=generator)
    return crf


@st.composite
def cases(draw, dtype: torch.dtype, *, max_time: int = 5, max_labels: int = 3) -> Case:
    """Draw a CRF and a batch with padding full of NaN, and sentences of length 0 among them."""
    batch = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, max_time), min_size=batch, max_size=batch))
    labels = draw(st.integers(1, max_labels))
    time = max(lengths) + draw(st.integers(0, 1))
    scale = draw(st.sampled_from([0.1, 1.0, 4.0]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    crf = random_crf(labels, generator, scale=scale, dtype=dtype)
    emissions = torch.randn(batch, time, labels, generator=generator, dtype=dtype) * scale
    allowed = torch.rand(emissions.shape, generator=generator) < 0.7
    allowed[..., 0] |= ~allowed.any(2)
    gold = torch.randint(labels, (batch, time), generator=generator)
    case = Case(crf, emissions, torch.tensor(lengths), gold, allowed, generator)
    emissions[~case.mask] = torch.nan
    gold[~case.mask] = -100
    return case
