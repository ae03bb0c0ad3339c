"""Settings of the CRF, and how they become scores."""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from bilstm_crf.corpus.schemes import OUTSIDE, split_label
from bilstm_crf.section import Section

ConstraintMode = Literal["none", "decode", "train_and_decode"]
DecodingMode = Literal["viterbi", "expected_f1"]


class CRFSection(Section):
    """The CRF: what it may predict, and which mistakes weigh more."""

    constraints: ConstraintMode = "decode"
    """Where label sequences outside the scheme are ruled out: `none`: nowhere; `decode`: in
    predictions; `train_and_decode`: in the loss too, which then no longer spends score on
    them."""

    decoding: DecodingMode = "viterbi"
    """Which entities are predicted: `viterbi`: those of the best label sequence; `expected_f1`:
    those more probable than `entity_threshold`, which finds more where data is hard and takes
    longer."""

    entity_threshold: Annotated[float, Field(gt=0, lt=1)] | Literal["auto"] = "auto"
    """With `decoding: expected_f1`, how probable an entity must be; auto: after training, what
    gives the best F1 on dev (0.5 without dev). In theory it is half the F1 that is reached."""

    outside_bias: float = 0.0
    """Added in decoding to the score of the label for no entity: above 0 predicts fewer
    entities (precision), below 0 more (recall)."""

    margin: float = Field(default=0.0, ge=0)
    """Training asks for this much more score of the right label than of each wrong one at each
    token (softmax-margin). 0 is the plain likelihood."""

    missed_weight: float = Field(default=1.0, ge=0)
    """Multiplies the margin between an entity's label and the one for no entity: above 1 misses
    fewer entities (recall)."""

    spurious_weight: float = Field(default=1.0, ge=0)
    """Multiplies the margin between the label for no entity and an entity's: above 1 invents
    fewer entities (precision)."""

    type_weights: dict[str, float] = Field(default_factory=dict)
    """Multiplies the margin of an entity type's tokens, by type, such as `{PER: 2.0}`."""

    def label_bias(self, labels: Sequence[str]) -> Float[Tensor, " labels"] | None:
        """Return what decoding adds to each label's score, or None when that is nothing."""
        if not self.outside_bias:
            return None
        return torch.tensor([self.outside_bias * (label == OUTSIDE) for label in labels])

    def costs(self, labels: Sequence[str]) -> Float[Tensor, "labels labels"] | None:
        """Return the margin of each right label (row) over each other one, or None without."""
        if not self.margin:
            return None
        return torch.tensor([[self._cost(one, two) for two in labels] for one in labels])

    def _cost(self, right: str, wrong: str) -> float:
        if right == wrong:
            return 0.0
        weight = 1.0
        if wrong == OUTSIDE:
            weight = self.missed_weight
        elif right == OUTSIDE:
            weight = self.spurious_weight
        entity_type = split_label(wrong if right == OUTSIDE else right)[1]
        return self.margin * weight * self.type_weights.get(entity_type, 1.0)
