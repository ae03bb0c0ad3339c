"""The distribution over the label paths of given sentences, and questions to it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from bilstm_crf.model.crf_lattice import Lattice
from bilstm_crf.model.crf_messages import run_messages


@dataclass(frozen=True)
class PathDistribution:
    """The label paths of a batch as a Markov chain, one step per token and one more at each end.

    State j follows state i at step t + 1 with probability
    ``exp(pairs[i, j]) gamma[t + 1, j] / beta[t, i]``, with the messages of
    :mod:`bilstm_crf.model.crf_messages`. All questions are about that chain, so one run of the
    recursions answers them all. No answer carries a gradient.

    Attributes:
        log_partition: log of the sum of exp(score) over all paths.
        states: probability of each state at each step; the boundary is the last state.
        pairs: score of state i followed by state j.
        log_beta: log weight of the path endings behind a state; 0 where there is none.
        log_gamma: ``log_beta`` plus the state's own score.
        dtype: type of the answers.
    """

    log_partition: Float[Tensor, " batch"]
    states: Float[Tensor, "steps batch states"]
    pairs: Float[Tensor, "states states"]
    log_beta: Float[Tensor, "steps batch states"]
    log_gamma: Float[Tensor, "steps batch states"]
    dtype: torch.dtype

    @classmethod
    def of(cls, lattice: Lattice) -> "PathDistribution":
        """Run both recursions over a lattice."""
        messages = run_messages(lattice)
        log_beta, log_gamma = messages.log_beta(), messages.log_gamma()
        states, _ = messages.expected(torch.ones_like(messages.log_partition))
        # A state without an ending gets no followers from log_gamma; 0 keeps it at that.
        log_beta = log_beta.masked_fill(log_beta == -torch.inf, 0.0)
        dtype = lattice.emissions.dtype
        return cls(messages.log_partition, states, lattice.pairs, log_beta, log_gamma, dtype)

    def _following(self, step: int) -> Float[Tensor, "batch states states"]:
        """Return the log probability that state j follows, given state i at ``step``."""
        return self.pairs + self.log_gamma[step + 1, :, None] - self.log_beta[step, :, :, None]

    def following(
        self, before: Sequence[int], behind: Sequence[int]
    ) -> Float[Tensor, "time batch pairs"]:
        """Return the probability that a token's label, one of ``before``, is followed by another.

        Args:
            before: labels.
            behind: for each of them one that may come next; 0 at the last token.
        """
        scores = self.pairs[before, behind] + self.log_gamma[2:, :, behind]
        return (scores - self.log_beta[1:-1, :, before]).exp()

    def marginals(self) -> Float[Tensor, "batch time labels"]:
        """Return the probability of each label at each token; 0 in the padding."""
        marginals = self.states[1:-1, :, :-1].transpose(0, 1)
        return marginals.to(self.dtype, memory_format=torch.contiguous_format)

    def pair_marginals(self) -> Float[Tensor, "batch pairs labels labels"]:
        """Return the probability of each two labels at each token and the next one."""
        steps, batch, states = self.states.shape
        shape = batch, max(steps - 3, 0), states - 1, states - 1
        pairs = self.states.new_empty(shape, dtype=self.dtype)
        for step in range(1, steps - 2):
            joint = self.states[step, :, :, None] * self._following(step).exp()
            pairs[:, step - 1] = joint[:, :-1, :-1]
        return pairs

    def entropy(self) -> Float[Tensor, " batch"]:
        """Return the entropy of each sentence's label path, in nats."""
        total = torch.zeros_like(self.log_partition)
        for step in range(len(self.states) - 1):
            # (batch, states): of the next state, given this one.
            entropies = torch.special.entr(self._following(step).exp()).sum(2)
            total += (self.states[step] * entropies).sum(1)
        return total.to(self.dtype)

    def sample(
        self, num_samples: int, generator: torch.Generator | None = None
    ) -> Int64[Tensor, "samples batch time"]:
        """Draw label paths by their probability; 0 in the padding."""
        steps, batch, states = self.states.shape
        at = torch.full((num_samples, batch), states - 1, device=self.states.device)
        paths = at.new_empty(num_samples, batch, steps - 2)
        for step in range(1, steps - 1):
            scores = self.pairs[at] + self.log_gamma[step]  # (samples, batch, states)
            # Adding Gumbel noise to log weights and taking the largest draws by weight.
            noise = torch.empty_like(scores).exponential_(generator=generator).log_()
            at = (scores - noise).argmax(2)
            paths[:, :, step - 1] = at
        return paths.masked_fill_(paths == states - 1, 0)

    def span_probability(
        self,
        sentences: Int[Tensor, " spans"],
        starts: Int[Tensor, " spans"],
        allowed: Bool[Tensor, "spans positions labels"],
    ) -> Float[Tensor, " spans"]:
        """Return the probability that every label of a span is an allowed one.

        This is the forward recursion over the span, restricted to what is allowed there
        (Culotta and McCallum 2004, "Confidence estimation for information extraction",
        https://aclanthology.org/N04-4028), so it is exact. That an entity does not go on behind
        its last token is said by one more position that forbids its inner labels; behind the
        sentence's end nothing is restricted.

        Args:
            sentences: each span's sentence in the batch.
            starts: its first token.
            allowed: its labels, token by token; all True at positions behind the span.
        """
        last = len(self.states) - 1
        # The boundary is always allowed: it stands for what is behind the sentence.
        allowed = torch.nn.functional.pad(allowed, (0, 1), value=True)
        weights = self.states[starts + 1, sentences].log()  # (spans, states)
        weights = weights.masked_fill(~allowed[:, 0], -torch.inf)
        for position in range(1, allowed.shape[1]):
            step = (starts + 1 + position).clamp(max=last)
            leaving = weights - self.log_beta[step - 1, sentences]
            arriving = torch.logsumexp(leaving[:, :, None] + self.pairs, 1)
            arriving += self.log_gamma[step, sentences]
            arriving = arriving.masked_fill(~allowed[:, position], -torch.inf)
            inside = starts + 1 + position <= last
            weights = torch.where(inside[:, None], arriving, weights)
        return torch.logsumexp(weights, 1).exp().to(self.dtype)
