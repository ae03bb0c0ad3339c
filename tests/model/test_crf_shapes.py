"""The shapes in the CRF's signatures, checked at run time."""

import subprocess
import sys

ASK_EVERYTHING = """
import torch
from jaxtyping import install_import_hook

with install_import_hook("bilstm_crf.model", "beartype.beartype"):
    from bilstm_crf.model.crf import CRF, allowed_labels

crf = CRF(3)
emissions, lengths = torch.randn(2, 5, 3, requires_grad=True), torch.tensor([5, 2])
labels = torch.randint(3, (2, 5))
for mask in (None, lengths, torch.arange(5) < lengths[:, None]):
    for allowed in (None, allowed_labels(labels, 3)):
        crf.log_partition(emissions, mask, allowed=allowed)
        crf.viterbi(emissions, mask, allowed=allowed)
        crf.k_best(emissions, 2, mask, allowed=allowed)
        crf.pair_marginals(emissions, mask, allowed=allowed)
        crf.entropy(emissions, mask, allowed=allowed)
    crf.partial_log_likelihood(emissions, allowed, mask).sum().backward()
    crf.path_score(emissions, labels, mask)
    crf.loss(emissions, labels, mask)
    crf.sample(emissions, mask, num_samples=4)
    crf.span_probability(emissions, torch.tensor([0]), torch.tensor([1]), allowed[:1, :2], mask)
crf.log_partition(1e5 * emissions)
try:
    crf.path_score(emissions, labels[:1])
except TypeError as error:
    print(type(error).__name__)
"""


def test_signatures_hold_at_run_time():
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK_EVERYTHING], capture_output=True, text=True
    )
    assert run.stderr == ""
    assert run.stdout == "TypeCheckError\n"
