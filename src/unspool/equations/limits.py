"""How large a cell's text may be. It may come from anybody: from a page, from a run in the mail.

Within these limits, reading, deriving, planning and printing a cell takes seconds at most; its
kernels have a limit of their own (`engine.c_build`). They are far above any published cell.
"""

TEXT = 20_000  # characters
LINES = 200  # equations and declarations
LINE = 1_000  # characters of one, over all the lines that it goes on for
DEPTH = 60  # nested brackets, or operations
NAME = 60  # characters
STATES = 50
PARAMETERS = 300
USES = 200  # of one name, or of one matrix
OPERANDS = 2_000  # names and matrices, each counted as often as it stands there
PIECES = 1_000  # vectors joined into one, counted through names
SIZE = 2**24  # numbers in a vector
