"""The linear-chain conditional random field: a distribution over the label paths of a sentence.

A path's score is the sum of the emissions of its labels and of the transitions between them, the
start and the end included; its probability is exp(score) divided by the sum of exp(score) of all
paths (Lafferty, McCallum and Pereira 2001, "Conditional random fields"; for tagging with neural
emissions Collobert et al. 2011, section 3.3.2, https://arxiv.org/abs/1103.0398).
"""

import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from bilstm_crf.model.crf_decoding import best_paths
from bilstm_crf.model.crf_entities import EntityLabels, probable_entities
from bilstm_crf.model.crf_inputs import (
    Allowed,
    Emissions,
    Mask,
    Reduction,
    allowed_labels,
    checked_mask,
    reduced,
    sentence_lengths,
)
from bilstm_crf.model.crf_k_best import k_best_paths
from bilstm_crf.model.crf_lattice import path_states
from bilstm_crf.model.crf_likelihood import log_likelihood, log_partition, path_score
from bilstm_crf.model.crf_posterior import PathDistribution
from bilstm_crf.model.crf_settings import ConstraintMode, CRFSection
from bilstm_crf.model.crf_transitions import AllowedTransitions, TransitionScores

__all__ = [
    "CRF",
    "AllowedTransitions",
    "CRFSection",
    "ConstraintMode",
    "EntityLabels",
    "Mask",
    "allowed_labels",
]


class CRF(TransitionScores):
    """A linear-chain CRF over the labels of a sentence; ``transitions[i, j]`` is i, then j.

    All methods take emissions of any floating type (batch, time, labels) and a mask: True at
    real tokens, or the sentences' lengths, or None. Padding comes after the sentence and may hold
    anything, NaN included; its gradient is exactly 0. Sentences of length 0 have one path, the
    empty one. Results have the emissions' type, but at least float32. Inside, double is used
    wherever the device has it, so scores of any size are safe, under autocast as well.

    ``log_partition``, ``path_score``, the likelihoods and ``loss`` carry gradients, and see
    constraints only under ``train_and_decode``; all other methods see them under ``decode`` too.
    Shapes that do not fit together raise a ValueError.

    Example:
        >>> crf = CRF(num_labels=5)
        >>> emissions, lengths = torch.randn(2, 4, 5), torch.tensor([4, 2])
        >>> labels = torch.tensor([[0, 1, 2, 0], [3, 4, 0, 0]])
        >>> loss = -crf.log_likelihood(emissions, labels, lengths, reduction="mean")
        >>> paths, scores = crf.viterbi(emissions, lengths)
    """

    def log_partition(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> Float[Tensor, " batch"]:
        """Return the log of the sum of exp(score) over all paths, or over the allowed ones."""
        mask = checked_mask(emissions, mask, self.num_labels, allowed=allowed)
        return log_partition(
            self._scores(emissions),
            mask=mask,
            allowed=allowed,
            forbidden=self._forbidden_in_training(),
        )

    def path_score(
        self, emissions: Emissions, labels: Int[Tensor, "batch time"], mask: Mask = None
    ) -> Float[Tensor, " batch"]:
        """Return the score of one label path per sentence."""
        mask = checked_mask(emissions, mask, self.num_labels, labels=labels)
        return path_score(self._scores(emissions), labels, mask, self._forbidden_in_training())

    def log_likelihood(
        self,
        emissions: Emissions,
        labels: Int[Tensor, "batch time"],
        mask: Mask = None,
        *,
        reduction: Reduction = "none",
    ) -> Float[Tensor, " batch"] | Float[Tensor, ""]:
        """Return the log probability of one label path per sentence: never above 0.

        Args:
            emissions: scores of the labels at each token.
            labels: the paths; in the padding any value, such as -100.
            mask: which tokens are real.
            reduction: ``none`` for a value per sentence, or ``sum``, ``mean`` over sentences,
                ``token_mean`` over tokens.
        """
        mask = checked_mask(emissions, mask, self.num_labels, labels=labels)
        value = log_likelihood(
            self._scores(emissions), labels, mask=mask, forbidden=self._forbidden_in_training()
        )
        return reduced(value, reduction, mask, emissions.shape[1])

    forward = log_likelihood

    def partial_log_likelihood(
        self,
        emissions: Emissions,
        allowed: Bool[Tensor, "batch time labels"],
        mask: Mask = None,
        *,
        reduction: Reduction = "none",
    ) -> Float[Tensor, " batch"] | Float[Tensor, ""]:
        """Return the log probability that each token's label is one of those allowed for it.

        For training on incomplete annotation (Tsuboi et al. 2008,
        https://aclanthology.org/C08-1113): a token of unknown label allows all of them. See
        :func:`allowed_labels` for labels with gaps.
        """
        mask = checked_mask(emissions, mask, self.num_labels, allowed=allowed)
        scores, forbidden = self._scores(emissions), self._forbidden_in_training()
        value = log_partition(
            scores, mask=mask, allowed=allowed, forbidden=forbidden
        ) - log_partition(scores, mask=mask, forbidden=forbidden)
        value = value.clamp(max=0.0)  # the log of a probability, but for rounding
        return reduced(value, reduction, mask, emissions.shape[1])

    def loss(
        self, emissions: Emissions, labels: Int[Tensor, "batch time"], mask: Mask = None
    ) -> Float[Tensor, " batch"]:
        """Return what training minimises: minus the log likelihood, with the costs if any are set.

        With costs it is the softmax-margin loss (Gimpel and Smith 2010,
        https://aclanthology.org/N10-1112): each wrong label's emission is raised by its cost.
        """
        mask = checked_mask(emissions, mask, self.num_labels, labels=labels)
        if self.costs is not None:
            right = labels if mask is None else labels.masked_fill(~mask, 0)
            emissions = emissions + self.costs[right]
        return -self.log_likelihood(emissions, labels, mask)

    @torch.no_grad()
    def is_allowed(
        self, labels: Int[Tensor, "batch time"], mask: Mask = None
    ) -> Bool[Tensor, " batch"]:
        """Say of each label path whether it keeps to the scheme, whatever the mode."""
        emissions = self.transitions.new_zeros(*labels.shape, self.num_labels)
        mask = checked_mask(emissions, mask, self.num_labels, labels=labels)
        if self.forbidden is None:
            return labels.new_ones(len(labels), dtype=torch.bool)
        path = path_states(labels, None if mask is None else ~mask, self.num_labels)
        return ~self.forbidden[path[:, :-1], path[:, 1:]].any(1)

    # --- decoding -----------------------------------------------------------------------------

    def viterbi(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> tuple[list[list[int]], Float[Tensor, " batch"]]:
        """Return the best path of each sentence, as a list of its length, and its score.

        Args:
            emissions: scores of the labels at each token.
            mask: which tokens are real.
            allowed: labels that each token may have; see :func:`allowed_labels`. Where they
                leave no legal path, the score is minus infinity and the path means nothing.
        """
        paths, scores = self.viterbi_paths(emissions, mask, allowed=allowed)
        lengths = sentence_lengths(emissions, mask)
        return [path[:n] for path, n in zip(paths.tolist(), lengths, strict=True)], scores

    @torch.no_grad()
    def viterbi_paths(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> tuple[Int64[Tensor, "batch time"], Float[Tensor, " batch"]]:
        """Return the best path of each sentence, 0 in the padding, and its score."""
        lattice = self._decoding_lattice(emissions, mask, allowed, biased=True)
        paths, scores = best_paths(lattice)
        return paths, scores.to(lattice.emissions.dtype)

    @torch.no_grad()
    def decode(self, emissions: Emissions, mask: Mask = None) -> Int64[Tensor, "batch time"]:
        """Return the labels to predict, 0 in the padding.

        They are those of the best path, or after :meth:`set_entity_threshold` those of all
        entities that are probable enough.
        """
        if self.entities is None:
            return self.viterbi_paths(emissions, mask)[0]
        mask = checked_mask(emissions, mask, self.num_labels)
        lattice = self._decoding_lattice(emissions, mask, None, biased=True)
        distribution = PathDistribution.of(lattice)
        found = probable_entities(
            distribution.states[1:-1, :, :-1].cpu().numpy(),
            lambda before, behind: distribution.following(before, behind).cpu().numpy(),
            *self.entities,
        )
        paths = torch.from_numpy(found).to(emissions.device)
        return paths if mask is None else paths.masked_fill(~mask, 0)

    @torch.no_grad()
    def k_best(
        self, emissions: Emissions, k: int, mask: Mask = None, *, allowed: Allowed = None
    ) -> tuple[list[list[list[int]]], Float[Tensor, "batch k"]]:
        """Return the k best paths of each sentence, best first, and their scores.

        A sentence with fewer legal paths has a shorter list, and scores of minus infinity.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        lattice = self._decoding_lattice(emissions, mask, allowed, biased=True)
        paths, scores = k_best_paths(lattice, k)
        legal = scores.isfinite().sum(1).tolist()
        lists = [
            [path[:length] for path in ranked[:count]]
            for ranked, count, length in zip(
                paths.tolist(), legal, sentence_lengths(emissions, mask), strict=True
            )
        ]
        return lists, scores.to(lattice.emissions.dtype)

    # --- questions to the distribution over paths ---------------------------------------------

    @torch.no_grad()
    def distribution(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> PathDistribution:
        """Return the distribution over label paths, to ask it several questions at one cost."""
        return PathDistribution.of(self._decoding_lattice(emissions, mask, allowed))

    def marginals(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> Float[Tensor, "batch time labels"]:
        """Return the probability of each label at each token; 0 in the padding."""
        return self.distribution(emissions, mask, allowed=allowed).marginals()

    def pair_marginals(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> Float[Tensor, "batch pairs labels labels"]:
        """Return the probability of each two labels at each token and the next one."""
        return self.distribution(emissions, mask, allowed=allowed).pair_marginals()

    def entropy(
        self, emissions: Emissions, mask: Mask = None, *, allowed: Allowed = None
    ) -> Float[Tensor, " batch"]:
        """Return the entropy of each sentence's label path, in nats; 0 when it is certain."""
        return self.distribution(emissions, mask, allowed=allowed).entropy()

    def sample(
        self,
        emissions: Emissions,
        mask: Mask = None,
        *,
        num_samples: int = 1,
        generator: torch.Generator | None = None,
    ) -> Int64[Tensor, "samples batch time"]:
        """Draw label paths by their probability; 0 in the padding."""
        return self.distribution(emissions, mask).sample(num_samples, generator)

    def span_probability(
        self,
        emissions: Emissions,
        sentences: Int[Tensor, " spans"],
        starts: Int[Tensor, " spans"],
        allowed: Bool[Tensor, "spans positions labels"],
        mask: Mask = None,
    ) -> Float[Tensor, " spans"]:
        """Return the exact probability of spans: that every label in them is an allowed one.

        Args:
            emissions: scores of the labels at each token.
            sentences: each span's sentence in the batch.
            starts: its first token.
            allowed: the labels that make it up, token by token, and one position more that
                forbids the labels by which it would go on; all True behind that.
            mask: which tokens are real.
        """
        return self.distribution(emissions, mask).span_probability(sentences, starts, allowed)
