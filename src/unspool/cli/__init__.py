"""The command line: one file for each group of commands; a function's signature is its options."""

from unspool.cli import cells, demo, look, train, translate, use  # noqa: F401  each adds its commands
from unspool.cli.app import app, main

__all__ = ["app", "main"]
