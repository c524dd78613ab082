"""How fast translators train and search, against the same models written by hand with torch.nn.

    python benchmarks/translate.py --data DIR [--weights FILE ...] [--rounds 5] [--json FILE]
        [--device cuda] [--precision high] [--only training] [--sizes large] [--kinds after,loop]

DIR has the folder multi30k (docs/results.md). Both sides have the same sizes and take the same
batches in turn; one update is forward, backward, clipping and AdamW. Trained are

    after      attention after the recurrence, in one batched product, on both sides
    loop       ours against the same written step by step, with the softmax in the loop
    inside     context inside the recurrence, step by step on both sides; theirs with the softmax in
               the loop, as tutorials have it

Searched is with a beam of 5 over the test sentences, in batches of 64, with the same weights on
both sides: those of FILE (parts of a trained model's, see quality_translate.py), or, without,
those of a short training. How many translations are the same is printed too. Above 1 is faster.
--precision is torch's setting for products of float32, on both sides.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from by_hand import HandSeq2Seq, Sizes
from quality_translate import MULTI30K, multi30k, put_weights
from torch import Tensor

from unspool.models.search import Search, longest, translate
from unspool.models.seq2seq import Seq2Seq
from unspool.models.stack import pad
from unspool.models.translator import PairBatch, Translator
from unspool.train import Training, fit, make_config
from unspool.train.optimise import clip_norm, make_optimiser
from unspool.train.tasks import find_task

INSIDE = {"model": {"place": "inside", "attention": "additive"}}
LARGE: dict[str, Any] = {}  # as in quality_translate.py: 13 million parameters, about 200 rows
SMALL: dict[str, Any] = {  # as in tutorials: 32 rows or so
    "model": {
        "embedding": 128, "hidden": 128, "decoder_hidden": 128, "layers": 1, "max_symbols": 4000,
    },
    "train": {"batch": 600},
}  # fmt: skip
WARM = {"train": {"epochs": 1, "batch": 2000, "lr": 2e-3, "warmup": 100}}  # where there is no FILE


def by_hand(model: Translator, **how: bool) -> HandSeq2Seq:
    """The same model with the same weights. It has the tags in both its tables."""
    settings, net = model.settings, model.net
    sizes = Sizes(
        len(net.embed.weight), settings.embedding, settings.hidden, settings.decoder_hidden,
        settings.layers, True, settings.dropout, settings.input_dropout, settings.smoothing,
    )  # fmt: skip
    hand = HandSeq2Seq(sizes, **how)
    with torch.no_grad():
        copy(net, hand, how.get("inside", False))
    return hand


def copy(net: Seq2Seq, hand: Any, inside: bool) -> None:
    """Weights of ours into the other. What is never said, tags too, has no chance there."""
    hand.source_table.weight.copy_(net.embed.weight)
    for k, layer in enumerate(net.encoder.layers):
        for cell, suffix in zip(layer.cells, ("", "_reverse"), strict=True):  # type: ignore[arg-type]
            put(cell, *(getattr(hand.encoder, f"{n}_l{k}{suffix}") for n in NAMES))
    bridge: Any = net.bridge.learned
    for k, layer in enumerate(net.decoder.layers.layers):
        place = hand.cells[k] if inside else hand.decoder
        suffix = "" if inside else f"_l{k}"
        put(layer.cells[0], *(getattr(place, n + suffix) for n in NAMES))  # type: ignore[index]
        hand.bridge[k].load_state_dict(bridge.maps[k].state_dict())
    score: Any = net.decoder.attention.score  # type: ignore[union-attr]
    if inside:
        hand.query.weight.copy_(score.W_q.weight)
        hand.key.weight.copy_(score.W_k.weight)
        hand.score.weight.copy_(score.v[None])
    else:
        hand.key.weight.copy_(score.W.weight)
    hand.combine.load_state_dict(net.decoder.combine.state_dict())
    hand.out.bias.fill_(-torch.inf)
    hand.out.bias[: net.decoder.symbols] = net.decoder.bias


NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def put(cell: Any, W: Tensor, U: Tensor, b: Tensor, spare: Tensor) -> None:
    """torch's order of gates, and its second bias, which does nothing."""
    for to, letter in ((W, "W"), (U, "U"), (b, "b")):
        to.copy_(torch.cat([getattr(cell, f"{letter}_{gate}") for gate in "ifgo"]))
    spare.zero_()


def updates(model: Any, loss: Callable[[PairBatch], Tensor], batches: list[PairBatch]) -> Any:
    """A function that trains on these batches once and gives target tokens a second."""
    optimiser = make_optimiser(model, Training())
    tokens = sum(int(batch.said.sum()) for batch in batches)

    def wait() -> None:
        if batches[0].source.is_cuda:
            torch.cuda.synchronize()

    def go() -> float:
        wait()
        begun = time.perf_counter()
        for batch in batches:
            optimiser.zero_grad()
            loss(batch).backward()
            clip_norm(model.parameters(), 1.0)
            optimiser.step()
        wait()
        return tokens / (time.perf_counter() - begun)

    return go


def compare(sides: list[Callable[[], float]], rounds: int) -> tuple[float, float, float]:
    """Both speeds and the median ratio of rounds in which each has its turn."""
    for side in sides:
        side()
    found = [[side() for side in sides] for _ in range(rounds)]
    mine, theirs = (statistics.median(column) for column in zip(*found, strict=True))
    return mine, theirs, statistics.median(a / b for a, b in found)


KINDS: dict[str, dict[str, bool]] = {
    "after": {}, "loop": {"loop": True}, "inside": {"inside": True}
}  # fmt: skip
SIZES = {"small": SMALL, "large": LARGE}


def training(
    pairs: list[Any], size: dict[str, Any], kinds: list[str], rounds: int, device: str
) -> dict[str, tuple[float, float, float]]:
    found = {}
    for name in kinds:
        how = KINDS[name]
        config = make_config("translate", MULTI30K, size, INSIDE if name == "inside" else {})
        torch.manual_seed(0)
        model = Translator.learn(config.model, pairs)
        hand = by_hand(model, **how).to(device)
        model.to(device)
        torch.nn.init.zeros_(hand.out.bias)  # -inf has no gradient to smooth with
        epoch = find_task("translate").batches(model, pairs, config).epoch(0)
        batches = [epoch[k].to(device) for k in range(4 if size is LARGE else 20)]

        def ours(batch: PairBatch, model: Any = model) -> Tensor:
            return model.loss(batch).mean

        def theirs(batch: PairBatch, hand: Any = hand) -> Tensor:
            steps = torch.arange(len(batch.target), device=device)[:, None]
            said = torch.where(steps <= batch.said, batch.target, 0)
            return hand.loss(batch.source, batch.read, said[:-1], said[1:])

        sides = [updates(model, ours, batches), updates(hand, theirs, batches)]
        found[name] = compare(sides, rounds)
    return found


def searching(
    pairs: list[Any], test: list[Any], weights: list[Path], rounds: int
) -> dict[str, tuple[float, float, float]]:
    config = make_config("translate", MULTI30K, {} if weights else WARM)
    torch.manual_seed(0)
    model = Translator.learn(config.model, pairs)
    if weights:
        put_weights(model, weights)
    else:
        fit(model, find_task("translate").batches(model, pairs, config), config.train)
    model.eval()
    hand = by_hand(model).eval()
    rows = [model.source_row(pair.source, pair.tag) for pair in test]
    order = sorted(range(len(rows)), key=lambda k: -len(rows[k]))
    batches = [order[k : k + 64] for k in range(0, len(order), 64)]
    said: dict[str, list[str]] = {}

    def ours() -> float:
        begun = time.perf_counter()
        said["ours"] = [one.text for one in translate(model, test, Search(5))]
        return len(test) / (time.perf_counter() - begun)

    def theirs() -> float:
        begun = time.perf_counter()
        answers = [""] * len(test)
        for batch in batches:
            ids, lengths = pad([rows[k] for k in batch])
            limit = max(longest(model, len(rows[k])) for k in batch)
            for k, tokens in zip(batch, hand.beam(ids, lengths, 5, limit), strict=True):
                answers[k] = model.target.decode(tokens)
        said["theirs"] = answers
        return len(test) / (time.perf_counter() - begun)

    found = {"beam 5, batch 64": compare([ours, theirs], rounds)}
    same = sum(a == b for a, b in zip(said["ours"], said["theirs"], strict=True))
    print(f"{same:,} of {len(test):,} translations are the same")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--weights", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=256, help="to translate, in each round")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    parser.add_argument("--device", default="cpu", help="where to train; the search is the CPU's")
    parser.add_argument("--precision", choices=("highest", "high"), default="highest")
    parser.add_argument("--only", choices=("training", "searching"))
    parser.add_argument("--sizes", default=",".join(SIZES), help="of models that are trained")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of training")
    args = parser.parse_args()
    kinds, chosen = args.kinds.split(","), args.sizes.split(",")
    if unknown := ({*kinds} - {*KINDS}) | ({*chosen} - {*SIZES}):
        parser.error(f"--kinds are of {', '.join(KINDS)}, --sizes of {', '.join(SIZES)}: {unknown}")
    torch.set_float32_matmul_precision(args.precision)
    pairs = multi30k(args.data, "train")
    test = multi30k(args.data, "test_2016_flickr")[: args.sentences]
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; a second: target tokens")
    print(f"in training, sentences in search\n{'':<24}{'ours':>10}{'torch.nn':>10}{'ratio':>8}")
    results: dict[str, tuple[float, float, float]] = {}

    def show(found: dict[str, tuple[float, float, float]]) -> None:
        for name, (mine, theirs, ratio) in found.items():
            print(f"{name:<24}{mine:>10,.1f}{theirs:>10,.1f}{ratio:>8.2f}", flush=True)
        results.update(found)

    if args.only != "training":
        show(searching(pairs, test, args.weights, args.rounds))
    for name in chosen if args.only != "searching" else ():
        found = training(pairs, SIZES[name], kinds, args.rounds, args.device)
        show({f"training, {name}, {how}": speeds for how, speeds in found.items()})
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
