"""bilstm-crf: train named-entity recognisers with a char + word BiLSTM and a CRF.

The public names live in :mod:`bilstm_crf.api` and are imported on first use, so that
``import bilstm_crf`` (and with it the command line's ``--help``) loads nothing heavy.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "CRF",
    "BilstmCrfError",
    "Config",
    "Sentence",
    "Span",
    "Tagger",
    "__version__",
    "evaluate",
    "load_config",
    "train",
]

if TYPE_CHECKING:
    from bilstm_crf.api import (
        CRF,
        BilstmCrfError,
        Config,
        Sentence,
        Span,
        Tagger,
        evaluate,
        load_config,
        train,
    )


def __getattr__(name: str) -> Any:
    if name in __all__:
        if name == "CRF":  # importable for its own sake, without the rest of the package
            from bilstm_crf.model.crf import CRF

            return CRF
        from bilstm_crf import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
