"""The notes' experiments as runnable functions."""

from unspool.lab.memory import MemoryRun, learn_first_symbol

__all__ = ["MemoryRun", "learn_first_symbol"]
