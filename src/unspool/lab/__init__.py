"""The notes' experiments as runnable functions, and how fast cells run here."""

from unspool.lab.memory import MemoryRun, learn_first_symbol

__all__ = ["MemoryRun", "learn_first_symbol"]
