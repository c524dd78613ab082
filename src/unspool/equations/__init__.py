"""The language: a cell's text becomes a graph with sizes, a derivative and a printed form."""
