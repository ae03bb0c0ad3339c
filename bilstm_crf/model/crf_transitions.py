"""The trained scores of a CRF, and what limits and shifts them: scheme, bias and costs."""

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bilstm_crf.model.crf_entities import EntityLabels
from bilstm_crf.model.crf_inputs import Allowed, Emissions, Mask, checked_mask
from bilstm_crf.model.crf_lattice import Lattice, build_lattice
from bilstm_crf.model.crf_likelihood import Scores
from bilstm_crf.model.crf_settings import ConstraintMode


@runtime_checkable
class AllowedTransitions(Protocol):
    """What a label scheme permits, such as :func:`bilstm_crf.corpus.labels.allowed_transitions`."""

    @property
    def start(self) -> Any:
        """Boolean (labels,): which labels may begin a sentence."""

    @property
    def pairs(self) -> Any:
        """Boolean (labels, labels): ``[i, j]`` says whether j may follow i."""

    @property
    def end(self) -> Any:
        """Boolean (labels,): which labels may end a sentence."""


class TransitionScores(nn.Module):
    """Scores of labels at the start, after each other and at the end of a sentence.

    Attributes:
        start_transitions: (labels) score of a sentence's first label.
        transitions: (labels, labels) ``[i, j]`` scores label i followed by label j.
        end_transitions: (labels) score of a sentence's last label.
        constraints: where the label scheme is enforced; see :meth:`set_constraints`.

    Args:
        num_labels: number of labels.

    Raises:
        ValueError: fewer than one label.
    """

    forbidden: Tensor | None
    label_bias: Tensor | None
    costs: Tensor | None
    entities: tuple[EntityLabels, float] | None

    def __init__(self, num_labels: int):
        super().__init__()
        if num_labels < 1:
            raise ValueError(f"a CRF needs at least 1 label, got {num_labels}")
        self.num_labels = num_labels
        self.start_transitions = nn.Parameter(torch.empty(num_labels))
        self.transitions = nn.Parameter(torch.empty(num_labels, num_labels))
        self.end_transitions = nn.Parameter(torch.empty(num_labels))
        self.constraints: ConstraintMode = "none"
        self.entities = None
        # Settings, not weights: they follow from labels and configuration, and are not saved.
        for name in ("forbidden", "label_bias", "costs"):
            self.register_buffer(name, None, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all scores between -0.1 and 0.1."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def extra_repr(self) -> str:
        return f"num_labels={self.num_labels}, constraints={self.constraints!r}"

    def set_constraints(self, allowed: AllowedTransitions, mode: ConstraintMode) -> None:
        """Rule out label paths that a scheme does not allow, by a score of minus infinity.

        Args:
            allowed: what may start a sentence, follow, and end it.
            mode: ``none``; ``decode``: in all but the likelihoods; ``train_and_decode``: there
                as well. Then a label path against the scheme has a likelihood of 0 and an
                infinite loss, so look for such paths first (:meth:`is_allowed`).
        """
        labels, device = self.num_labels, self.transitions.device
        forbidden = torch.zeros(labels + 1, labels + 1, dtype=torch.bool, device=device)
        forbidden[:labels, :labels] = ~torch.as_tensor(allowed.pairs, device=device)
        forbidden[:labels, labels] = ~torch.as_tensor(allowed.end, device=device)
        forbidden[labels, :labels] = ~torch.as_tensor(allowed.start, device=device)
        self.forbidden, self.constraints = forbidden, mode

    def set_label_bias(self, bias: Float[Tensor, " labels"] | None) -> None:
        """Add a number to each label's score in decoding (:meth:`viterbi`, :meth:`k_best`)."""
        self.label_bias = None if bias is None else bias.to(self.transitions.device)

    def set_entity_threshold(self, labels: EntityLabels, threshold: float) -> None:
        """Let :meth:`decode` choose the entities that are more probable than a threshold.

        Args:
            labels: how entities are written.
            threshold: between 0 and 1; about half the F1 that is expected.
        """
        self.entities = labels, threshold

    def set_costs(self, costs: Float[Tensor, "labels labels"] | None) -> None:
        """Ask :meth:`loss` for a margin ``[right, wrong]`` over each wrong label."""
        self.costs = None if costs is None else costs.to(self.transitions.device)

    def _scores(self, emissions: Emissions) -> Scores:
        return emissions, self.start_transitions, self.transitions, self.end_transitions

    def _forbidden_in_training(self) -> Tensor | None:
        return self.forbidden if self.constraints == "train_and_decode" else None

    def _decoding_lattice(
        self, emissions: Emissions, mask: Mask, allowed: Allowed, *, biased: bool = False
    ) -> Lattice:
        mask = checked_mask(emissions, mask, self.num_labels, allowed=allowed)
        if biased and self.label_bias is not None:
            emissions = emissions + self.label_bias
        forbidden = None if self.constraints == "none" else self.forbidden
        return build_lattice(
            *self._scores(emissions), mask=mask, allowed=allowed, forbidden=forbidden
        )
