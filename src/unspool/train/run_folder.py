"""The folder of a run: what is in it, how it is written, and how it is read.

config.yaml          every setting, and the format's version
vocab/*.json         symbols and labels
model.safetensors    the best weights
metrics.jsonl        what training said
data.json            what the training data was, to know it again
held_out.json        some of the texts that the run is measured by, to look at
checksums.json       of the files that never change, and of the cell that the weights are for
checkpoints/         what a killed run goes on from

A folder may come from anybody: its files are plain ones inside it, of a size that is expected,
and nothing that is written in them makes us read a file elsewhere.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from unspool.cells.find import check_lasting
from unspool.train.checkpoint import (
    DamagedFile,
    Shapes,
    brief,
    pack,
    read_packed,
    read_shapes,
    unpack,
)
from unspool.train.config import config_text, read_config
from unspool.train.durable import write_durably
from unspool.train.fit import CHECKPOINTS, WEIGHTS
from unspool.train.plain_file import is_plain, read_plain, real_folder, size_of
from unspool.train.plain_json import check_values, read_json
from unspool.train.resolve import VERSION, config_plain, make_config
from unspool.train.tasks import Config, find_task

CONFIG, VOCAB, DATA, HELD_OUT = "config.yaml", "vocab", "data.json", "held_out.json"
CHECKSUMS = "checksums.json"
START = f"{CHECKPOINTS}/start.safetensors"
CELL = "cell"  # among the checksums: the equations
VOCABULARY_BYTES = 64 << 20  # bytes of a vocabulary
FILES = 20  # that never change, at most
FEW = 100  # layers, which are built at once
SAMPLE = 300_000  # characters of held-out texts that are kept
# What values of the wrong kind in a file may raise where they are used.
UNUSABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)


def begin(
    model: Any, config: Config, data: dict[str, str], held_out: Sequence[Any], out: Path
) -> None:
    """Writes everything that a run has before its first step. config.yaml comes last: with it the
    folder is a run that can be resumed."""
    for folder in (out / VOCAB, (out / START).parent):
        real_folder(folder, make=True)
    files = {
        **{f"{VOCAB}/{name}.json": to_json(asset) for name, asset in model.assets().items()},
        **{f"{VOCAB}/{name}.safetensors": pack(extra) for name, extra in model.extras().items()},
        DATA: to_json(data),
        HELD_OUT: to_json(sample(held_out)),
    }
    start = pack(model.state_dict())
    for name, content in files.items():
        if name.endswith(".json"):
            check_readable(name, content, len(start))
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    checksums[CELL] = cell_checksum(config)
    for name, content in files.items():
        write_durably(out / name, content)
    write_durably(out / START, start)
    write_durably(out / CHECKSUMS, json.dumps(checksums, indent=0).encode())
    write_durably(out / CONFIG, config_text(config_plain(config)).encode())


def check_readable(name: str, content: bytes, weights: int) -> None:
    """Refuses a vocabulary that would be too large to be read again, before it is trained on."""
    try:
        if len(content) > VOCABULARY_BYTES:
            raise ValueError(f"{len(content):,} bytes; at most {VOCABULARY_BYTES:,} are read")
        check_values(content, weights)
    except ValueError as error:
        raise ValueError(
            f"{name} is too large to be kept ({error}): lower model.max_symbols or model.ngrams, "
            "or raise model.min_count"
        ) from None


def to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=0).encode("utf-8", "surrogatepass")


def sample(examples: Sequence[Any]) -> list[str]:
    """The texts of held-out examples, the first of them, up to `SAMPLE` characters."""
    texts, room = [], SAMPLE
    for example in examples:
        text = text_of(example)[:room]
        texts.append(text)
        room -= len(text)
        if room <= 0:
            break
    return texts


def text_of(example: Any) -> str:
    """What a model reads of an example."""
    if hasattr(example, "words"):
        return " ".join(example.words)
    return example.source if hasattr(example, "source") else example.text


def read_sample(out: Path) -> list[str]:
    """The held-out texts that the run has kept; [] if it has none."""
    texts = read_value(out, HELD_OUT, checksums(out)) if is_plain(out / HELD_OUT) else []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DamagedFile(f"{out / HELD_OUT} is damaged: it is not a list of texts")
    return texts


def cell_checksum(config: Config) -> str:
    """Of the equations of the run's cells: weights belong to the cell that they were trained in."""
    cells = [getattr(config.model, name, "") for name in ("cell", "decoder_cell")]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def load_config(out: Path) -> Config:
    """The settings of a run; whatever they name, no file is read."""
    path = out / CONFIG
    if not is_plain(path):
        raise ValueError(f"{out} is not a run: it has no {CONFIG}")
    plain = read_config(path)
    if plain.get("version") not in (1, VERSION):
        given = str(plain.get("version"))[:80]
        raise ValueError(f"{path} has version {given}; this unspool reads 1 to {VERSION}")
    model = plain.get("model", {})
    if not isinstance(model, dict):
        raise ValueError(f"{path}: model is names with values, not {str(model)[:80]!r}")
    for name in ("cell", "decoder_cell"):
        if model.get(name, "") != "":
            check_lasting(model[name])
    try:
        return make_config(str(plain.get("task"))[:80], plain)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def check_cell(out: Path, config: Config) -> None:
    """Refuses settings whose equations are not those that the run was trained with."""
    known = checksums(out)
    if known is not None and known.get(CELL) != cell_checksum(config):
        raise DamagedFile(
            f"{out / CONFIG} has another cell than the one that the run was trained with, or "
            f"{CHECKSUMS} is damaged: weights go with their cell; to try another start a new run"
        )


def checksums(out: Path) -> dict[str, str] | None:
    """By the name of each file that never changes; None for runs of version 1, which have none."""
    path = out / CHECKSUMS
    if read_config(out / CONFIG).get("version") == 1:
        return None
    if not is_plain(path):
        raise DamagedFile(f"{path} is missing: the folder was not copied in full")
    try:
        found = read_json(read_plain(path, 1 << 20))
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged: {brief(error)}") from None
    if not isinstance(found, dict) or len(found) > FILES:
        raise DamagedFile(f"{path} is damaged: it is not names with checksums")
    return found


def read_checked(out: Path, name: str, known: dict[str, str] | None) -> bytes:
    """A file of the run that never changes, compared with its checksum among the known ones."""
    path = out / name
    if not is_plain(path):
        raise DamagedFile(f"{path} is missing: the folder was not copied in full")
    content = read_plain(path, VOCABULARY_BYTES if path.suffix == ".json" else path.stat().st_size)
    if known is not None and known.get(name) != hashlib.sha256(content).hexdigest():
        raise DamagedFile(f"{path} is damaged: its bytes are not those that {CHECKSUMS} has")
    return content


def read_value(out: Path, name: str, known: dict[str, str] | None) -> Any:
    """The value in a JSON file of the run that never changes."""
    content = read_checked(out, name, known)
    try:
        return read_json(content, max(size_of(out / WEIGHTS), size_of(out / START)))
    except ValueError as error:
        raise DamagedFile(f"{out / name} is damaged: {brief(error)}") from None


def files_of(out: Path, ending: str, known: dict[str, str] | None) -> list[str]:
    """The names of the vocabulary files with this ending: those that have a checksum. Runs of
    version 1 have none; of them it is those that are there."""
    if not real_folder(out / VOCAB):
        raise DamagedFile(f"{out / VOCAB} is missing: the folder was not copied in full")
    there = (f"{VOCAB}/{path.name}" for path in (out / VOCAB).iterdir())
    names = re.compile(rf"{VOCAB}/[A-Za-z0-9_-]+{re.escape(ending)}")
    return sorted(filter(names.fullmatch, there if known is None else known))[:FILES]


def read_assets(out: Path) -> dict[str, Any]:
    """The vocabularies and labels of a run, by name."""
    known = checksums(out)
    names = files_of(out, ".json", known)
    return {Path(name).stem: read_value(out, name, known) for name in names}


def read_extras(out: Path) -> dict[str, Any]:
    """What a model has counted beside its weights, such as n-grams, by name."""
    extras = {}
    known = checksums(out)
    for name in files_of(out, ".safetensors", known):
        read_shapes(out / name)
        extras[Path(name).stem] = unpack(read_checked(out, name, known), out / name)
    return extras


def build_model(out: Path, config: Config, assets: dict[str, Any], shapes: Shapes) -> Any:
    """The run's model with weights as at the start.

    `shapes` are those of the weights that it is to take. The model is first built without memory
    for its weights, and they are compared: sizes in a file make us allocate nothing.
    """
    check_cell(out, config)
    check_layers(config, shapes, out)
    kind = find_task(config.task).kind
    try:
        with torch.device("meta"):
            planned = kind.build(config.model, assets).state_dict()
        check_shapes({name: tuple(value.shape) for name, value in planned.items()}, shapes, out)
        return kind.build(config.model, assets)
    except DamagedFile:
        raise
    except UNUSABLE as error:
        raise DamagedFile(
            f"the model of {out} cannot be built from its {CONFIG} and {VOCAB}: {brief(error)}"
        ) from None


def check_layers(config: Config, shapes: Shapes, out: Path) -> None:
    """Refuses many more layers than there are weights, before any is built."""
    settings = config.model
    layers = max(settings.layers, getattr(settings, "decoder_layers", 0))
    layers *= getattr(settings, "readers", 1)
    if layers > max(FEW, len(shapes)):  # a cell may have no weights of its own
        raise DamagedFile(
            f"the weights of {out} do not go with its {CONFIG}: it asks for {layers:,} layers, and "
            f"there are {len(shapes):,} tensors"
        )


def take_extras(model: Any, extras: dict[str, Any], out: Path) -> None:
    """Gives a model what it had counted."""
    try:
        model.take_extras(extras)
    except UNUSABLE as error:
        raise DamagedFile(f"{out / VOCAB} is damaged: {brief(error)}") from None


def check_shapes(planned: Shapes, found: Shapes, out: Path) -> None:
    """Refuses weights of other names or sizes than the settings ask for."""
    for name in sorted(planned.keys() | found.keys()):
        if planned.get(name) == found.get(name):
            continue
        sizes = [
            "x".join(map(str, one[name])) if name in one else "none" for one in (planned, found)
        ]
        raise DamagedFile(
            f"the weights of {out} do not go with its {CONFIG}: of {name[:80]} it asks for "
            f"{sizes[0]}, and there is {sizes[1]}"
        )


def load(run: str | Path) -> Any:
    """The trained model of a run folder, with its best weights, ready to use."""
    run = Path(run)
    config = load_config(run)
    path = run / WEIGHTS
    if not is_plain(path):
        raise ValueError(f"{run} has no trained weights yet: its first epoch has not ended")
    model = build_model(run, config, read_assets(run), read_shapes(path))
    take_extras(model, read_extras(run), run)
    take_weights(model, read_packed(path), path)
    return model.eval()


def take_weights(model: Any, weights: Any, path: Path) -> None:
    """Puts weights into a model; those of another kind, or that are no numbers, are refused."""
    kinds = {name: value.dtype for name, value in model.state_dict().items()}
    for name, value in weights.items():
        if value.dtype != kinds.get(name, value.dtype):
            raise DamagedFile(
                f"{path} does not fit {CONFIG}: {name[:80]} has numbers of another kind "
                f"({value.dtype}, where {kinds[name]} is expected)"
            )
    try:
        model.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise DamagedFile(f"{path} does not fit {CONFIG}: {brief(error)}") from None
    for name, value in model.named_parameters():
        if not value.isfinite().all():
            raise DamagedFile(
                f"{path} has weights that are not numbers (nan or infinite, in {name}): what the "
                "model would say means nothing; take a copy from before, or train anew"
            )
