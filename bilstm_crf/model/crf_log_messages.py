"""Messages as logs of weights: a log-sum-exp per step, right for scores of any size."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bilstm_crf.model.crf_lattice import Lattice


@dataclass(frozen=True)
class LogMessages:
    """Messages as logs; see :class:`bilstm_crf.model.crf_messages.Messages`.

    Attributes:
        log_partition: log of the summed weights of all paths.
        pairs: score of state i followed by state j.
        alpha: log weights of path beginnings.
        beta: log weights of path endings.
        gamma: ``beta`` plus the state's own score.
    """

    log_partition: Float[Tensor, " batch"]
    pairs: Float[Tensor, "states states"]
    alpha: Float[Tensor, "steps batch states"]
    beta: Float[Tensor, "steps batch states"]
    gamma: Float[Tensor, "steps batch states"]

    def expected(
        self, weights: Float[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "steps batch states"], Float[Tensor, "states states"]]:
        """Return each state's probability, and the sum of the pairs', by weighted sentences."""
        # Where no path is allowed every weight is 0, and must not become 0 / 0.
        impossible = self.log_partition == -torch.inf
        before = self.alpha - self.log_partition.masked_fill(impossible, 0.0)[:, None]
        states = (before + self.beta).exp_() * weights[:, None]
        pairs = torch.zeros_like(self.pairs)
        for t in range(len(before) - 1):
            pair = before[t, :, :, None] + self.pairs + self.gamma[t + 1, :, None, :]
            pairs += torch.einsum("bij,b->ij", pair.exp_(), weights)
        return states, pairs

    def log_beta(self) -> Float[Tensor, "steps batch states"]:
        """Return ``beta``, which is a log already."""
        return self.beta

    def log_gamma(self) -> Float[Tensor, "steps batch states"]:
        """Return ``gamma``, which is a log already."""
        return self.gamma


def log_messages(lattice: Lattice) -> LogMessages:
    """Run both recursions on logs of weights."""
    scores, pairs = lattice.scores().transpose(1, 2).contiguous(), lattice.pairs
    last = len(scores) - 1
    alpha, beta, gamma = (torch.empty_like(scores) for _ in range(3))
    alpha[0], beta[last], gamma[last] = scores[0], 0.0, scores[last]
    for t in range(1, last + 1):
        alpha[t] = torch.logsumexp(alpha[t - 1, :, :, None] + pairs, 1) + scores[t]
        back = last - t
        beta[back] = torch.logsumexp(pairs + gamma[back + 1, :, None, :], 2)
        gamma[back] = beta[back] + scores[back]
    return LogMessages(alpha[last, :, lattice.boundary], pairs, alpha, beta, gamma)
