"""Cuts text into tokens by spaCy's rules for a language, with true offsets."""

from bilstm_crf.errors import ConfigError, MissingExtraError


class SpacyTokenizer:
    """The tokenizer of a blank spaCy pipeline; white space is in no token.

    Args:
        language: spaCy's code, such as ``en``.

    Raises:
        MissingExtraError: spaCy is not installed.
        ConfigError: it knows no such language.
    """

    def __init__(self, language: str):
        try:
            import spacy
        except ModuleNotFoundError:
            raise MissingExtraError("spacy", "spacy", f"--tokens spacy:{language}") from None
        try:
            self._tokenize = spacy.blank(language).tokenizer
        except ImportError:
            raise ConfigError(f"--tokens spacy:{language}: spaCy has no such language") from None

    def __call__(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character offsets of the tokens, in order."""
        return [
            (token.idx, token.idx + len(token))
            for token in self._tokenize(text)
            if not token.is_space
        ]
