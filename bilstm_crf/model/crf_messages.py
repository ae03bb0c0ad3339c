"""Forward and backward messages over a lattice: what the sum over all label paths is made of.

With ``alpha[t, i]`` the summed weight of all path beginnings that end in state i at step t, and
``beta[t, i]`` that of all path endings that can follow, the probability of state i at step t is
``alpha[t, i] beta[t, i] / Z`` (Rabiner 1989, section III; Sutton and McCallum 2012, section 4.1,
https://arxiv.org/abs/1011.4088). The weights themselves can be multiplied and added quickly, but
a number format ends somewhere; their logs do not. :func:`run_messages` takes the quick way where
it provably changes nothing, and otherwise the way that is always right.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from bilstm_crf.model.crf_lattice import Lattice
from bilstm_crf.model.crf_log_messages import log_messages
from bilstm_crf.model.crf_weight_messages import weight_messages


@runtime_checkable
class Messages(Protocol):
    """Both directions' messages, and what follows from them at once."""

    @property
    def log_partition(self) -> Float[Tensor, " batch"]:
        """The log of the summed weights of all paths; minus infinity where none is allowed."""

    def expected(
        self, weights: Float[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "steps batch states"], Float[Tensor, "states states"]]:
        """Return what a path passes on average, each sentence times its weight.

        Returns:
            The probability of each state at each step, and the expected number of times that
            state i is followed by j, summed over sentences. All 0 where no path is allowed.
        """

    def log_beta(self) -> Float[Tensor, "steps batch states"]:
        """The log weight of all path endings behind a state, up to a number per step."""

    def log_gamma(self) -> Float[Tensor, "steps batch states"]:
        """``log_beta`` and the state's own score, up to the number of the step before."""


def run_messages(lattice: Lattice) -> Messages:
    """Run both recursions over the lattice."""
    return weight_messages(lattice) or log_messages(lattice)
