"""The entry point of the command `unspool`: what must be settled before torch is loaded.

OpenMP's threads spin while they wait, by default for so long that where another process needs one
of the cores, everybody waits for a thread that is not running: training became eight times slower
with a single busy process beside it. With a short spin it is about three times slower, and on a
quiet machine as fast as before. This is a setting of the process, so a library has no business
with it, but a command has.
"""

import os


def main() -> None:
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    from unspool.cli import main as run

    run()
