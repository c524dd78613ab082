"""The local page and the single-file report."""
