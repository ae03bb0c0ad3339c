"""The linear-chain CRF: scores, normalises, decodes and questions label sequences."""

from typing import Literal, Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from bilstm_crf.section import Section

ConstraintMode = Literal["none", "decode", "train_and_decode"]


class AllowedTransitions(Protocol):
    """What a label scheme permits: boolean arrays over labels."""

    start: object
    pairs: object
    end: object


class CRFSection(Section):
    """Settings of the CRF."""

    constraints: ConstraintMode = "decode"
    """Where the label scheme is enforced: nowhere, in decoding, or in the loss as well."""
    outside_bias: float = 0.0
    """Added to the score of the outside label in decoding; above 0 favours precision."""


class CRF(nn.Module):
    """A linear-chain CRF; ``transitions[i, j]`` scores label i followed by label j."""

    def __init__(self, num_labels: int):
        super().__init__()
        self.num_labels = num_labels
        self.start_transitions = nn.Parameter(torch.empty(num_labels))
        self.transitions = nn.Parameter(torch.empty(num_labels, num_labels))
        self.end_transitions = nn.Parameter(torch.empty(num_labels))
        self.mode: ConstraintMode = "none"
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)
        self.register_buffer("allowed_start", None, persistent=False)
        self.register_buffer("allowed_pairs", None, persistent=False)
        self.register_buffer("allowed_end", None, persistent=False)

    def set_constraints(self, allowed: AllowedTransitions, mode: ConstraintMode) -> None:
        """Enforce a label scheme; nothing of it is saved with the parameters."""
        device = self.transitions.device
        self.allowed_start = torch.as_tensor(allowed.start, dtype=torch.bool, device=device)
        self.allowed_pairs = torch.as_tensor(allowed.pairs, dtype=torch.bool, device=device)
        self.allowed_end = torch.as_tensor(allowed.end, dtype=torch.bool, device=device)
        self.mode = mode

    def _scores(self, decoding: bool) -> tuple[Tensor, Tensor, Tensor]:
        scores = (self.start_transitions, self.transitions, self.end_transitions)
        if self.mode == "train_and_decode" or (decoding and self.mode == "decode"):
            allowed = (self.allowed_start, self.allowed_pairs, self.allowed_end)
            start, pairs, end = (
                s.masked_fill(~a, -torch.inf) for s, a in zip(scores, allowed, strict=True)
            )
            return start, pairs, end
        return scores

    def log_partition(
        self, emissions: Float[Tensor, "batch time labels"], mask: Tensor | None = None
    ) -> Float[Tensor, " batch"]:
        """The log of the summed exponentiated scores of all label paths."""
        emissions, mask = _prepare(emissions, mask)
        start, transitions, end = self._scores(decoding=False)
        alpha = start + emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            step = torch.logsumexp(alpha[:, :, None] + transitions, 1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], step, alpha)
        return torch.logsumexp(alpha + end, 1)

    def path_score(
        self,
        emissions: Float[Tensor, "batch time labels"],
        labels: Int[Tensor, "batch time"],
        mask: Tensor | None = None,
    ) -> Float[Tensor, " batch"]:
        """The score of one label path per sentence."""
        emissions, mask = _prepare(emissions, mask)
        start, transitions, end = self._scores(decoding=False)
        labels = labels.masked_fill(~mask, 0)
        token = emissions.gather(2, labels[:, :, None])[:, :, 0] * mask
        pair = transitions[labels[:, :-1], labels[:, 1:]] * mask[:, 1:]
        last = labels.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
        return token.sum(1) + pair.sum(1) + start[labels[:, 0]] + end[last]

    def log_likelihood(
        self,
        emissions: Float[Tensor, "batch time labels"],
        labels: Int[Tensor, "batch time"],
        mask: Tensor | None = None,
        *,
        reduction: Literal["none", "sum", "mean"] = "none",
    ) -> Tensor:
        """The log probability of one label path per sentence."""
        value = self.path_score(emissions, labels, mask) - self.log_partition(emissions, mask)
        if reduction == "none":
            return value
        return value.sum() if reduction == "sum" else value.mean()

    @torch.no_grad()
    def viterbi(
        self, emissions: Float[Tensor, "batch time labels"], mask: Tensor | None = None
    ) -> tuple[list[list[int]], Float[Tensor, " batch"]]:
        """The best label path of each sentence and its score."""
        emissions, mask = _prepare(emissions, mask)
        start, transitions, end = self._scores(decoding=True)
        best = start + emissions[:, 0]
        pointers = []
        stay = torch.arange(self.num_labels, device=best.device).expand_as(best)
        for t in range(1, emissions.shape[1]):
            step, pointer = (best[:, :, None] + transitions).max(1)
            pointers.append(torch.where(mask[:, t, None], pointer, stay))
            best = torch.where(mask[:, t, None], step + emissions[:, t], best)
        scores, label = (best + end).max(1)
        reverse = [label]
        for pointer in reversed(pointers):
            label = pointer.gather(1, label[:, None])[:, 0]
            reverse.append(label)
        paths = torch.stack(reverse[::-1], 1).tolist()
        return [p[:n] for p, n in zip(paths, mask.sum(1).tolist(), strict=True)], scores

    def marginals(
        self, emissions: Float[Tensor, "batch time labels"], mask: Tensor | None = None
    ) -> Float[Tensor, "batch time labels"]:
        """The probability of each label at each token; zero in the padding."""
        with torch.enable_grad():
            emissions = emissions.detach().requires_grad_()
            total = self.log_partition(emissions, mask).sum()
            (gradient,) = torch.autograd.grad(total, emissions)
        return gradient


def _prepare(emissions: Tensor, mask: Tensor | None) -> tuple[Tensor, Bool[Tensor, "batch time"]]:
    emissions = emissions.float() if emissions.dtype != torch.float64 else emissions
    if mask is None:
        mask = emissions.new_ones(emissions.shape[:2], dtype=torch.bool)
    return emissions.masked_fill(~mask[:, :, None], 0.0), mask
