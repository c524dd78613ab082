"""The entry point of the command `unspool`: what must be settled before torch is loaded.

OpenMP's threads by default spin while they wait. Where another process needs one of the cores, the
others then wait for a thread that is not running: training became eight times slower with a
single busy process beside it. Sleeping costs nothing measurable on a quiet machine. This is a
setting of the process, so a library has no business with it, but a command has.
"""

import os


def main() -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from unspool.cli import main as run

    run()
