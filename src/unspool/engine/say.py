"""What a user should know once, and not at every call."""

import warnings
from functools import lru_cache


@lru_cache(maxsize=8)
def say_once(problem: str) -> None:
    warnings.warn(f"cells run in a slower loop, without compiled kernels: {problem}", stacklevel=4)
