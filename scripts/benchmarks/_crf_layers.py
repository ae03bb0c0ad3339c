"""CRF layers to compare: ours, two others and the tutorial's loop, behind one interface."""

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bilstm_crf.model.crf import CRF


@dataclass
class Problem:
    """A padded batch with gold labels, and the scores that all layers share."""

    emissions: Tensor
    labels: Tensor
    lengths: Tensor
    mask: Tensor
    start: nn.Parameter
    transitions: nn.Parameter
    end: nn.Parameter

    @classmethod
    def random(cls, batch: int, time: int, labels: int, device: str) -> "Problem":
        """Draw a batch of sentences between half and full length, one of them full."""
        generator = torch.Generator().manual_seed(batch * time * labels)
        lengths = torch.randint(max(1, time // 2), time + 1, (batch,), generator=generator)
        lengths[0] = time
        shapes = [(labels,), (labels, labels), (labels,)]
        parameters = [
            nn.Parameter((torch.rand(shape, generator=generator) - 0.5).to(device))
            for shape in shapes
        ]
        emissions = torch.randn(batch, time, labels, generator=generator).to(device)
        gold = torch.randint(labels, (batch, time), generator=generator).to(device)
        lengths = lengths.to(device)
        mask = torch.arange(time, device=device) < lengths[:, None]
        return cls(emissions.requires_grad_(), gold, lengths, mask, *parameters)

    @property
    def leaves(self) -> list[Tensor]:
        """What gradients are asked for."""
        return [self.emissions, self.start, self.transitions, self.end]


class Ours:
    """This package's layer."""

    name = "bilstm-crf"

    def __init__(self, problem: Problem):
        self.problem = problem
        self.layer = CRF(len(problem.start)).to(problem.start.device)
        self.layer.start_transitions = problem.start
        self.layer.transitions = problem.transitions
        self.layer.end_transitions = problem.end

    def loss(self) -> Tensor:
        """Return the summed negative log likelihood."""
        p = self.problem
        return -self.layer.log_likelihood(p.emissions, p.labels, p.mask, reduction="sum")

    def decode(self) -> list[list[int]]:
        """Return the best paths."""
        return self.layer.viterbi(self.problem.emissions, self.problem.mask)[0]


class PytorchCrf:
    """The package pytorch-crf."""

    name = "pytorch-crf"

    def __init__(self, problem: Problem):
        module = importlib.import_module("torchcrf")
        self.problem = problem
        self.layer: Any = module.CRF(len(problem.start), batch_first=True)
        self.layer.to(problem.start.device)
        self.layer.start_transitions = problem.start
        self.layer.transitions = problem.transitions
        self.layer.end_transitions = problem.end

    def loss(self) -> Tensor:
        """Return the summed negative log likelihood."""
        p = self.problem
        return -self.layer(p.emissions, p.labels, p.mask)  # type: ignore[no-any-return]

    def decode(self) -> list[list[int]]:
        """Return the best paths."""
        with torch.no_grad():
            return self.layer.decode(self.problem.emissions, self.problem.mask)  # type: ignore[no-any-return]


class TorchStruct:
    """The package torch-struct: a distribution over the scores of all pairs of labels."""

    name = "torch-struct"

    def __init__(self, problem: Problem):
        warnings.simplefilter("ignore")
        self.module = importlib.import_module("torch_struct")
        self.problem = problem

    def _distribution(self) -> Any:
        p = self.problem
        # Pair n holds (label of token n + 1, label of token n); it takes the score of the later
        # token, the first pair also that of the first token, the last one the end's.
        pairs = p.emissions[:, 1:, :, None] + p.transitions.T
        first = torch.zeros_like(pairs)
        first[:, 0] = (p.emissions[:, 0] + p.start)[:, None]
        steps = torch.arange(1, p.emissions.shape[1], device=pairs.device)
        is_last = (steps == p.lengths[:, None] - 1)[:, :, None, None]
        return self.module.LinearChainCRF(pairs + first + is_last * p.end[:, None], p.lengths)

    def loss(self) -> Tensor:
        """Return the summed negative log likelihood."""
        p, distribution = self.problem, self._distribution()
        path = distribution.struct.to_parts(p.labels, len(p.start), lengths=p.lengths)
        gold = (distribution.log_potentials * path.to(p.emissions)).sum()
        return distribution.partition.sum() - gold  # type: ignore[no-any-return]

    def decode(self) -> list[list[int]]:
        """Return the best paths."""
        p = self.problem
        argmax = self._distribution().argmax.detach()
        labels = torch.cat([argmax[:, :1].sum(2).argmax(2), argmax.sum(3).argmax(2)], 1)
        rows = zip(labels.tolist(), p.lengths.tolist(), strict=True)
        return [row[:length] for row, length in rows]


class TutorialLoop:
    """The algorithm as tutorials show it: a Python loop per sentence, token and label."""

    name = "tutorial loop"

    def __init__(self, problem: Problem):
        self.problem = problem

    def loss(self) -> Tensor:
        """Return the summed negative log likelihood."""
        p, total = self.problem, torch.zeros((), device=self.problem.start.device)
        for sentence, gold, length in zip(p.emissions, p.labels, p.lengths.tolist(), strict=True):
            forward = p.start + sentence[0]
            score = p.start[gold[0]] + sentence[0, gold[0]]
            for t in range(1, length):
                reached = [
                    torch.logsumexp(forward + p.transitions[:, label] + sentence[t, label], 0)
                    for label in range(len(p.start))
                ]
                forward = torch.stack(reached)
                score = score + p.transitions[gold[t - 1], gold[t]] + sentence[t, gold[t]]
            score = score + p.end[gold[length - 1]]
            total = total + torch.logsumexp(forward + p.end, 0) - score
        return total

    @torch.no_grad()
    def decode(self) -> list[list[int]]:
        """Return the best paths."""
        p, paths = self.problem, []
        for sentence, length in zip(p.emissions, p.lengths.tolist(), strict=True):
            best, pointers = p.start + sentence[0], []
            for t in range(1, length):
                reached, pointer = [], []
                for label in range(len(p.start)):
                    candidates = best + p.transitions[:, label]
                    pointer.append(int(candidates.argmax()))
                    reached.append(candidates[pointer[-1]])
                best = torch.stack(reached) + sentence[t]
                pointers.append(pointer)
            path = [int((best + p.end).argmax())]
            for pointer in reversed(pointers):
                path.append(pointer[path[-1]])
            paths.append(path[::-1])
        return paths


LAYERS: list[type[Any]] = [Ours, PytorchCrf, TorchStruct, TutorialLoop]
