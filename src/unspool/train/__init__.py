"""Training: one loop, checkpoints that cannot be lost, and runs from a file to a folder."""

from unspool.train.fit import Fitted, Interrupted, TrainingStopped, fit
from unspool.train.log import reporter
from unspool.train.runs import load, make_config, resume, run, train
from unspool.train.settings import Training

__all__ = [
    "Fitted", "Interrupted", "Training", "TrainingStopped", "fit", "load", "make_config",
    "reporter", "resume", "run", "train",
]  # fmt: skip
