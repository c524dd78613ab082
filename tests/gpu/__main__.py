"""`python -m tests.gpu [words]`: runs the checks whose names hold all of the words.

Shards run side by side, since most of the time goes into compiling.
"""

import argparse
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from queue import Queue
from threading import Thread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--processes", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--shard", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shard is None:
        sys.exit(all_shards(options))
    sys.exit(one_shard(options))


def all_shards(options: argparse.Namespace) -> int:
    import torch

    if not torch.cuda.is_available():
        print("torch sees no GPU here: `make test` interprets the kernels instead")
        return 2
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, seed {options.seed}")
    base = [sys.executable, "-m", "tests.gpu", *options.words, "--seed", str(options.seed)]
    count = options.processes
    children = [
        subprocess.Popen([*base, "--shard", f"{k}/{count}"], stdout=subprocess.PIPE, text=True)
        for k in range(count)
    ]
    passed, failed = 0, 0
    for line in said_by(children):  # at once: who sets a limit of time may not wait for the end
        passed += line.startswith("passed")
        failed += line.startswith("FAILED")
        if not line.startswith("passed"):
            print(line, end="", flush=True)
        elif passed % 100 == 0:
            print(f"{passed} passed so far", flush=True)
    failed += sum(bool(child.wait()) for child in children)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or not passed)


def said_by(children: list["subprocess.Popen[str]"]) -> Iterator[str]:
    """Lines of all children, as they come."""
    lines: Queue[str | None] = Queue()

    def listen(child: "subprocess.Popen[str]") -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put(None)

    for child in children:
        Thread(target=listen, args=(child,), daemon=True).start()
    for _ in children:
        yield from iter(lines.get, None)


def one_shard(options: argparse.Namespace) -> int:
    from tests.gpu.checks import checks

    mine, count = map(int, options.shard.split("/"))
    for k, (name, run) in enumerate(checks("cuda", options.seed)):
        if k % count != mine or not all(word in name for word in options.words):
            continue
        try:
            run()
        except Exception as error:
            said = " ".join(str(error).split())[:300]
            print(f"FAILED {name}: {type(error).__name__}: {said}")
            if options.words:
                traceback.print_exc()
        else:
            print(f"passed {name}")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    main()
