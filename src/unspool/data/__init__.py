"""Built-in data that needs no download."""

from unspool.data.first_symbol import first_symbol

__all__ = ["first_symbol"]
