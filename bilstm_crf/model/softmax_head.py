"""The head without a CRF: each token's label by itself, for comparison."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn import functional as F


class SoftmaxHead(nn.Module):
    """Independent softmax over the labels of each token, behind the CRF's interface."""

    def log_likelihood(
        self,
        emissions: Float[Tensor, "batch time labels"],
        labels: Int64[Tensor, "batch time"],
        mask: Bool[Tensor, "batch time"],
    ) -> Float[Tensor, "batch"]:
        """Return the log probability of each sentence's labels."""
        scores = F.log_softmax(emissions.float(), dim=2)
        gold = scores.gather(2, labels[:, :, None])[:, :, 0]
        return gold.masked_fill(~mask, 0.0).sum(1)

    def loss(
        self,
        emissions: Float[Tensor, "batch time labels"],
        labels: Int64[Tensor, "batch time"],
        mask: Bool[Tensor, "batch time"],
    ) -> Float[Tensor, "batch"]:
        """Return minus the log likelihood of each sentence."""
        return -self.log_likelihood(emissions, labels, mask)

    def viterbi_paths(
        self, emissions: Float[Tensor, "batch time labels"], mask: Bool[Tensor, "batch time"]
    ) -> tuple[Int64[Tensor, "batch time"], Float[Tensor, "batch"]]:
        """Return each token's best label (0 in the padding) and the sum of their scores."""
        best, paths = emissions.float().max(dim=2)
        return paths.masked_fill(~mask, 0), best.masked_fill(~mask, 0.0).sum(1)

    def decode(
        self, emissions: Float[Tensor, "batch time labels"], mask: Bool[Tensor, "batch time"]
    ) -> Int64[Tensor, "batch time"]:
        """Return each token's best label, 0 in the padding."""
        return self.viterbi_paths(emissions, mask)[0]

    def marginals(
        self, emissions: Float[Tensor, "batch time labels"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time labels"]:
        """Return each token's label probabilities, 0 in the padding."""
        return torch.softmax(emissions.float(), dim=2).masked_fill(~mask[:, :, None], 0.0)
