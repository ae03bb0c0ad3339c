"""What is asked of a model beside its labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bilstm_crf.errors import ConfigError


@dataclass(frozen=True)
class Thresholds:
    """How probable an entity must be to be kept.

    Attributes:
        default: for types without a threshold of their own.
        by_type: for single entity types.
    """

    default: float = 0.0
    by_type: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, texts: Sequence[str], types: Sequence[str]) -> "Thresholds":
        """Read thresholds such as ``0.9`` and ``PER=0.5``.

        Args:
            texts: what the user wrote, each a number or a type, an equals sign and a number.
            types: the entity types of the model.

        Raises:
            ConfigError: no number between 0 and 1, or no type of the model.
        """
        default, by_type = 0.0, {}
        for text in texts:
            name, equals, number = text.rpartition("=")
            try:
                value = float(number)
            except ValueError:
                value = -1.0
            if not 0 <= value <= 1:
                raise ConfigError(
                    f"--threshold {text}: expected a number from 0 to 1, or TYPE=NUMBER"
                )
            if not equals:
                default = value
            elif name in types:
                by_type[name] = value
            else:
                raise ConfigError(
                    f"--threshold {text}: the model has no type {name!r}; it has {', '.join(types)}"
                )
        return cls(default, by_type)

    def __bool__(self) -> bool:
        return self.default > 0 or any(value > 0 for value in self.by_type.values())

    def keeps(self, entity_type: str, probability: float) -> bool:
        """Return whether an entity is probable enough."""
        return probability >= self.by_type.get(entity_type, self.default)


@dataclass(frozen=True)
class Questions:
    """What to find out about each sentence beside the best labels.

    Attributes:
        probabilities: the exact probability of each entity.
        token_probabilities: the probability of each token's entity, or of ``O``.
        marginals: the probability of each label at each token.
        thresholds: entities less probable are dropped.
        k_best: how many whole label paths to give, with their probabilities; 0 for none.
    """

    probabilities: bool = False
    token_probabilities: bool = False
    marginals: bool = False
    thresholds: Thresholds = field(default_factory=Thresholds)
    k_best: int = 0

    def __bool__(self) -> bool:
        return self.needs_entities or self.marginals or self.k_best > 0

    @property
    def needs_entities(self) -> bool:
        """Whether the probabilities of entities matter."""
        return self.probabilities or self.token_probabilities or bool(self.thresholds)

    @property
    def needs_marginals(self) -> bool:
        """Whether the probabilities of single labels matter."""
        return self.token_probabilities or self.marginals
