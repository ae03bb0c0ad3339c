"""Messages as weights: one batched matrix product and one multiplication per step.

Both directions advance together, and every few steps their weights are brought back to a largest
value of 1. What that could lose, and how it is noticed, is told at :func:`weight_messages`.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bilstm_crf.model.crf_arrays import native
from bilstm_crf.model.crf_lattice import Lattice

LARGE_PRODUCT = 200_000
"""Above this many multiplications numpy's library may use threads of its own, as many as cores."""


@dataclass(frozen=True)
class WeightMessages:
    """Messages as weights; see :class:`bilstm_crf.model.crf_messages.Messages`.

    Attributes:
        log_partition: log of the summed weights of all paths.
        pairs: weight of state i followed by state j.
        alpha: weights of path beginnings, up to a factor per step and sentence.
        beta: weights of path endings, up to a factor per step and sentence.
        gamma_backward: ``beta`` times the state's own weight, in the factor of the step before's
            ``beta``; last step first.
    """

    log_partition: Float[Tensor, " batch"]
    pairs: Float[Tensor, "states states"]
    alpha: Float[Tensor, "steps batch states"]
    beta: Float[Tensor, "steps batch states"]
    gamma_backward: Float[Tensor, "steps batch states"]

    def expected(
        self, weights: Float[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "steps batch states"], Float[Tensor, "states states"]]:
        """Return each state's probability, and the sum of the pairs', by weighted sentences."""
        states = len(self.pairs)
        joint = self.alpha * self.beta
        share = weights[:, None] / joint.sum(2, keepdim=True)
        # A pair at a step has alpha[t, i] pairs[i, j] gamma[t + 1, j] / sum of joint[t]: over
        # all steps and sentences together that is one matrix product.
        before = (self.alpha * share)[:-1].flip(0).view(-1, states)
        after = self.gamma_backward[:-1].reshape(-1, states)
        return joint.mul_(share), before.T.mm(after).mul_(self.pairs)

    def log_beta(self) -> Float[Tensor, "steps batch states"]:
        """Return the log of ``beta``."""
        return self.beta.log()

    def log_gamma(self) -> Float[Tensor, "steps batch states"]:
        """Return the log of ``gamma``."""
        return self.gamma_backward.flip(0).log()


def weight_messages(lattice: Lattice) -> WeightMessages | None:
    """Run both recursions on weights, or return None where that could lose something.

    Let ``swing`` be 2 max |emission| + 2 max |pair score| + log(states). No step makes a
    message's largest value grow or shrink by more than exp(swing), and if all pairs are allowed
    its smallest value lies within exp(swing) of the largest. With B = log(largest number) / 4,
    swing <= B and a return to size every floor(B / swing) steps, the sums of alpha times beta
    stay within exp(3 B): what falls out of the format is below exp(-B) of them.

    Where labels or pairs are forbidden, the values of a message can differ without bound, and
    small ones fall out of the format; :func:`_is_exact` then looks at what came out.
    """
    budget = math.log(torch.finfo(lattice.pairs.dtype).max) / 4
    emissions, padding = lattice.emissions, lattice.padding
    swing = _swing(lattice, emissions)
    if not swing <= budget and padding is not None:  # it may be that of the padding only
        emissions = emissions.masked_fill(padding[:, :, None], 0.0)
        swing = _swing(lattice, emissions)
    if not swing <= budget:  # as well when a score is infinite or not a number
        return None
    tokens, pairs = _token_weights(lattice, emissions), lattice.pairs.exp()
    carried, log_factor = _sweep(tokens, pairs, budget, stride=int(budget / swing))
    messages = carried * tokens
    forbids = lattice.restricted or lattice.constrained
    if forbids and not _is_exact(tokens[:, 0], carried, messages, pairs):
        return None
    log_partition = messages[-1, 0, :, lattice.boundary].log() + log_factor
    alpha, beta = messages[:, 0], carried[:, 1].flip(0)
    return WeightMessages(log_partition, pairs, alpha, beta, messages[:, 1])


def _swing(lattice: Lattice, emissions: Float[Tensor, "batch time labels"]) -> float:
    """Return the bound of :func:`weight_messages` on what one step can do."""
    pairs = lattice.pairs
    if lattice.restricted:
        emissions = emissions.masked_fill(emissions == -torch.inf, 0.0)
    if lattice.constrained:
        pairs = pairs.masked_fill(pairs == -torch.inf, 0.0)
    largest = pairs.abs().max()
    if emissions.numel():
        largest += emissions.abs().max()
    # The one value that the host waits for.
    return 2 * float(largest) + math.log(len(pairs))


def _token_weights(
    lattice: Lattice, emissions: Float[Tensor, "batch time labels"]
) -> Float[Tensor, "steps 2 batch states"]:
    """Return the states' own weights at each step, for alpha and, last step first, for gamma."""
    weights = emissions.exp()
    if lattice.padding is not None:
        weights.masked_fill_(lattice.padding[:, :, None], 0.0)
    batch, time, labels = weights.shape
    tokens = lattice.pairs.new_zeros(time + 2, 2, batch, labels + 1)
    forward = tokens[:, 0]
    forward[:: time + 1, :, labels] = 1.0  # the first step and the last
    forward[1:-1, :, :labels] = weights.transpose(0, 1)
    if lattice.padding is not None:
        forward[1:-1, :, labels] = lattice.padding.T
    tokens[:, 1] = forward.flip(0)
    return tokens


def _sweep(
    tokens: Float[Tensor, "steps 2 batch states"],
    pairs: Float[Tensor, "states states"],
    budget: float,
    stride: int,
) -> tuple[Float[Tensor, "steps 2 batch states"], Float[Tensor, " batch"]]:
    """Run alpha and gamma through all steps, back to size every ``stride`` steps.

    For a return to size a step's own weights are divided, in place.

    Returns:
        The messages before they are multiplied with the states' own weights, and the log of the
        factor by which alpha was divided on the way.
    """
    carried = torch.empty_like(tokens)
    carried[0] = 1.0
    both = torch.stack([pairs, pairs.T])
    message = tokens[0].clone()
    large = message.numel() * len(pairs) > LARGE_PRODUCT
    xp, (own, before, weights, message) = native(tokens, carried, both, message, large=large)
    # Smaller values come only from sentences without an allowed path, or are found out later.
    smallest = math.exp(-budget)
    factors = []
    for step in range(1, len(own)):
        here = before[step]
        xp.matmul(message, weights, out=here)
        if step % stride == 0:
            factors.append(carried[step].amax(2, keepdim=True).clamp_min_(smallest))
            tokens[step].div_(factors[-1])
        xp.multiply(here, own[step], out=message)
    if not factors:
        return carried, tokens.new_zeros(tokens.shape[2])
    return carried, torch.stack(factors)[:, 0, :, 0].log().sum(0)


def _is_exact(
    tokens: Float[Tensor, "steps batch states"],
    carried: Float[Tensor, "steps 2 batch states"],
    messages: Float[Tensor, "steps 2 batch states"],
    pairs: Float[Tensor, "states states"],
) -> bool:
    """Say whether nothing that fell out of the number format can have mattered.

    The format ends at exp(-4 B). While the largest values of all messages stay above exp(-B), a
    lost beginning or ending weighs less than exp(-3 B) of the best one. Against the paths that
    were kept that is below exp(-B) if these weigh at least exp(-2 B) of what the largest values
    of alpha and beta would make together. A path that lost both its beginning and its ending
    weighs less than exp(-6 B) times its middle, which the steps' row sums bound; this is below
    exp(-B) if the kept paths are within exp(3 B) of that bound.
    """
    budget = math.log(torch.finfo(tokens.dtype).max) / 4
    alpha, beta = messages[:, 0], carried[:, 1].flip(0)
    largest = alpha.amax(2) * beta.amax(2)
    exact = ((alpha * beta).sum(2) >= math.exp(-2 * budget) * largest).all()
    exact &= (torch.minimum(carried.amax(3), messages.amax(3)) >= math.exp(-budget)).all()
    row_sums = (tokens[1:] @ pairs.T).where(tokens[:-1] > 0, 0.0)
    bound = row_sums.amax(2).log().sum(0)
    exact &= (bound - alpha[-1, :, -1].log() <= 3 * budget).all()
    return bool(exact)
