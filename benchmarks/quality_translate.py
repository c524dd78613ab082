"""How good translators are on real data, beside published figures.

    python benchmarks/quality_translate.py train JOB --data DIR --out DIR [--device cuda]
        [--start FILE ...]
    python benchmarks/quality_translate.py score --data DIR --out DIR

DIR has the folders multi30k and cmudict (sources: docs/results.md). The jobs:

    multi30k              one model for German to English and back, told which by a tag
    multi30k-transformer  a Transformer, to compare with
    german, german-none   a small model from German to English, with attention and without
    cmudict               words to their sounds

`train` leaves OUT/JOB.json: what was said, and the weights in OUT/JOB; it goes on where it was
stopped. Nothing is chosen on any score: the weights are those of the last epoch, averaged. `score`
prints BLEU, chrF and error rates, and draws BLEU by the length of the source.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from unspool.data.pairs import Pair, read_pairs
from unspool.models.search import Search, translate
from unspool.train import fit, make_config
from unspool.train.log import Lines
from unspool.train.tasks import find_task

LANGUAGES = ("de", "en")
MULTI30K: dict[str, Any] = {
    "model": {
        "units": "subwords", "joint": True, "max_symbols": 8000, "tied": "all", "embedding": 512,
        "cell": "lstm", "hidden": 256, "layers": 2, "decoder_hidden": 512, "attention": "general",
        "dropout": 0.4, "input_dropout": 0.3, "symbol_dropout": 0.1, "smoothing": 0.1,
    },
    "train": {
        "epochs": 45, "batch": 5000, "lr": 2e-3, "warmup": 400,
        "average": "ema", "average_decay": 0.999, "save_seconds": 120.0,
    },
}  # fmt: skip
GERMAN: dict[str, Any] = {
    "model": {
        "embedding": 256, "hidden": 256, "decoder_hidden": 256, "layers": 1, "max_symbols": 5000,
        "dropout": 0.3, "input_dropout": 0.2,
    },
    "train": {"epochs": 10, "batch": 2500, "warmup": 200, "precision": "bfloat16"},
}  # fmt: skip
CMUDICT: dict[str, Any] = {
    "model": {
        "units": "characters", "target_units": "words", "embedding": 256,
        "cell": "lstm", "hidden": 512, "layers": 2, "attention": "general",
        "dropout": 0.3, "input_dropout": 0.2, "smoothing": 0.1,
    },
    "train": {
        "epochs": 35, "batch": 4500, "lr": 1e-3, "warmup": 400,
        "average": "ema", "average_decay": 0.999, "save_seconds": 120.0,
    },
}  # fmt: skip
JOBS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "multi30k": (MULTI30K, {}),
    "german": (MULTI30K, GERMAN),
    "german-none": (
        MULTI30K, {"model": GERMAN["model"] | {"attention": "none"}, "train": GERMAN["train"]},
    ),
    "multi30k-transformer": (
        {
            "model": {
                "architecture": "transformer", "embedding": 256, "layers": 4, "heads": 4,
                "units": "subwords", "joint": True, "max_symbols": 8000, "tied": "all",
                "dropout": 0.3, "symbol_dropout": 0.1, "smoothing": 0.1,
            },
            "train": MULTI30K["train"] | {"lr": 1e-3, "warmup": 2000},
        },
        {},
    ),
    "cmudict": (CMUDICT, {}),
}  # fmt: skip


def multi30k(data: Path, part: str) -> list[Pair]:
    """Both directions, each with the language that is asked for as its tag."""
    files = [str(data / "multi30k" / f"{part}.lc.norm.tok.{code}.gz") for code in LANGUAGES]
    pairs = read_pairs(files[0], target_path=files[1]).examples
    there = [replace(pair, tag="en") for pair in pairs]
    back = [Pair(p.target or "", p.source, "de", p.where) for p in pairs]
    return there + back


def cmudict(data: Path, part: str) -> list[Pair]:
    return read_pairs(data / "cmudict" / f"{part}.tsv.gz").examples


def examples(job: str, data: Path) -> dict[str, list[Pair]]:
    if job == "cmudict":
        return {part: cmudict(data, part) for part in ("train", "dev")}
    parts = {part: multi30k(data, part) for part in ("train", "val", "test_2016_flickr")}
    if job.startswith("german"):
        return {name: [p for p in part if p.tag == "en"] for name, part in parts.items()}
    return parts


def put_weights(model: torch.nn.Module, files: list[Path]) -> None:
    """Weights that may have been cut into several files, and rounded."""
    from safetensors.torch import load_file

    parts = [load_file(path) for path in files]
    model.load_state_dict({name: v.float() for part in parts for name, v in part.items()})


def train(job: str, data: Path, out: Path, device: str, start: list[Path]) -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    config = make_config("translate", *JOBS[job])
    task: Any = find_task("translate")
    parts = examples(job, data)
    torch.manual_seed(config.train.seed)
    model = task.learn(config, parts["train"])
    if start:
        put_weights(model, start)
    model = model.to(device)
    size = sum(p.numel() for p in model.parameters())
    print(f"{job}: {size / 1e6:.1f} million parameters", flush=True)
    begun = time.monotonic()
    batches = task.batches(model, parts["train"], config)
    going = (out / job / "checkpoints").exists()
    report = Lines(sys.stdout)
    fitted = fit(model, batches, config.train, out=out / job, resume=going, report=report)
    found: dict[str, Any] = {
        "parameters": size,
        "seconds": fitted.standing.seconds,
        "device": device,
    }
    for part in list(parts)[1:]:
        asked = list({(pair.source, pair.tag): pair for pair in parts[part]}.values())
        for name, search in (("greedy", Search(1)), ("beam", Search(5))):
            said = [one.text for one in translate(model, asked, search)]
            found[f"{part}, {name}"] = [
                [p.source, p.tag, text] for p, text in zip(asked, said, strict=True)
            ]
    found["minutes here"] = (time.monotonic() - begun) / 60
    (out / f"{job}.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["train", "score"])
    parser.add_argument("job", nargs="?", choices=list(JOBS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--start", type=Path, nargs="*", default=[], help="weights to go on from")
    args = parser.parse_args()
    if args.what == "train":
        train(args.job, args.data, args.out, args.device, args.start)
        return
    from quality_translate_score import score

    score(args.data, args.out)


if __name__ == "__main__":
    main()
