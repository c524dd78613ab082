"""Teacher forcing that fades: how often a decoder is given the right symbol, not its own.

Scheduled sampling (Bengio et al. 2015). `done` is the share of the training that lies behind,
`end` the probability that is left at its end.
"""

import math

FORCINGS = ("full", "linear", "exponential", "sigmoid")
HALF = 0.5  # where forcing fades to if nothing else is said
STEEPNESS = 10.0  # k of the inverse sigmoid, which begins at k / (k + 1)


def forced(kind: str, done: float, end: float) -> float:
    """The probability of forcing.

    linear: 1 - (1 - end) done. exponential: end^done. sigmoid: k / (k + exp(u / k)), where u
    grows evenly up to the place at which `end` is reached.
    """
    done = min(max(done, 0.0), 1.0)
    if kind == "linear":
        return 1 - (1 - end) * done
    if kind == "exponential":
        return end**done
    if kind == "sigmoid":
        k = STEEPNESS
        last = k * math.log(k * (1 - end) / end)
        return k / (k + math.exp(done * last / k))
    return 1.0


def check_forcing(kind: str, end: float) -> None:
    if kind not in FORCINGS:
        raise ValueError(f"model.forcing is one of {', '.join(FORCINGS)}, not {kind!r}")
    if kind == "full" and end != HALF:
        raise ValueError("model.forcing_end is where forcing fades to: set model.forcing too")
    if not 0 <= end <= 1:
        raise ValueError(f"model.forcing_end is a probability, from 0 to 1, not {end}")
    if kind == "exponential" and end == 0:
        raise ValueError("an exponential never reaches 0: model.forcing_end is above 0")
    highest = STEEPNESS / (STEEPNESS + 1)
    if kind == "sigmoid" and not 0 < end < highest:
        raise ValueError(
            f"the inverse sigmoid runs from {highest:.2f} down and never reaches 0: "
            f"model.forcing_end lies between, not at {end}"
        )
