"""Answers are what the model does: each against the library asked directly."""

import json
import math
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

import unspool as us
from tests.studio import runs
from tests.studio.conftest import Desks
from unspool.inspect.properties import PROPERTIES
from unspool.inspect.reading import read
from unspool.lab.memory import FirstSymbol
from unspool.models.search import Search, translate
from unspool.models.speak import score
from unspool.studio.desk import Desk
from unspool.studio.jobs import MOST, Job, Jobs
from unspool.studio.plain import finite
from unspool.studio.questions import QUESTIONS, ask
from unspool.studio.report import settled

TASKS = ["language", "translator", "classifier", "tagger", "classes", "tagged"]
KINDS = {"classes": "ab", "tagged": "y"}  # what these models have to be told
TEXTS = {"language": runs.SOURCE, "translator": "eins drei", "classifier": "abab"}
TEXTS |= {"tagger": "the dog barks", "classes": "abab\nba", "tagged": "abc"}


@pytest.mark.parametrize("task", TASKS)
def test_the_run_says_what_it_is(desks: Desks, task: str) -> None:
    found = ask(desks(task), "run", {})
    json.dumps(found, allow_nan=False)
    model = us.load(desks(task).folder)
    assert found["parameters"] == sum(p.numel() for p in model.parameters())
    assert found["trained"]
    assert ("translate" in found["views"]) == (task in ("translator", "tagged"))
    assert found["views"][0] == "training"
    assert {"text", "gradients", "cell"} <= set(found["views"])
    assert found["examples"]
    names = {cell["name"] for cell in found["cells"]}
    assert names == set(us.cells.named())


def test_without_a_run_there_are_cells() -> None:
    desk = Desk()
    found = ask(desk, "run", {})
    assert found["views"] == ["gradients", "cell"]
    assert ask(desk, "gradients", {"cells": ["elman"], "steps": 5})["flows"][0]["error"] == ""
    with pytest.raises(ValueError, match="unspool studio RUN"):
        ask(desk, "text", {"text": "a"})


def test_a_run_without_weights_yet(desks: Desks, tmp_path: Path) -> None:
    """Training has begun and no epoch has ended."""
    source = desks("language").folder
    shutil.copytree(source / "vocab", tmp_path / "vocab")
    for name in ("config.yaml", "metrics.jsonl"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    found = ask(Desk(tmp_path), "run", {})
    assert not found["trained"]
    assert found["views"] == ["training", "gradients", "cell"]
    with pytest.raises(ValueError, match="no trained weights"):
        ask(Desk(tmp_path), "text", {"text": "a"})


@pytest.mark.parametrize("task", TASKS)
def test_every_line_of_every_layer_over_a_text(desks: Desks, task: str) -> None:
    desk, text, kind = desks(task), TEXTS[task], KINDS.get(task, "")
    found = ask(desk, "text", {"text": text, "kind": kind})
    reading = read(us.load(desk.folder), text, kind=kind, gradients=True)
    assert found["symbols"] == reading.symbols
    assert found["ranked"] == (task in ("language", "classes"))
    for layer, about in enumerate(found["layers"]):
        for line in about["lines"]:
            name = line["name"]
            unit = line["size"] - 1
            params = {"text": text, "kind": kind, "layer": layer, "line": name, "unit": unit}
            got = torch.tensor(ask(desk, "unit", params)["values"])
            if name.startswith("dL/d"):
                wanted = reading.gradient(layer, name.removeprefix("dL/d"))[:, unit]
            else:
                wanted = reading.values(layer, name)[:, unit]
            assert torch.allclose(got, wanted.float(), rtol=1e-5, atol=1e-9)


def test_a_translation_is_the_search_that_was_recorded(desks: Desks) -> None:
    desk = desks("translator")
    text = f"eins {runs.HOSTILE}"
    params = {"text": text, "tag": "", "width": 4, "nbest": 3, "normalise": "mean"}
    found = ask(desk, "translate", params)
    model = us.load(desk.folder)
    (wanted,) = translate(model, [text], Search(width=4, nbest=3, record=True))
    assert wanted.tree is not None
    assert [one["text"] for one in found["best"]] == [one.text for one in wanted.best]
    for node, own in zip(found["tree"], wanted.tree.to_json(), strict=True):
        assert node | {"token": own["token"]} == own
    for one, own in zip(found["best"], wanted.best, strict=True):
        path = [node.token for node in wanted.tree.path(one["node"])]
        assert path[: len(own.tokens)] == own.tokens
        assert len(path) == len(own.tokens) + own.finished == len(one["tokens"])
        assert len(one["weights"]) == len(one["tokens"])
        for row in one["weights"]:
            assert len(row) == len(found["source"])
            assert sum(row) == pytest.approx(1, abs=1e-5)


def test_training_is_read_on_from_where_it_was(desks: Desks, tmp_path: Path) -> None:
    source = desks("translator").folder
    lines = (source / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "config.yaml").write_bytes((source / "config.yaml").read_bytes())
    log = tmp_path / "metrics.jsonl"
    desk = Desk(tmp_path)
    assert ask(desk, "training", {"since": 0})["steps"]["step"] == []
    log.write_bytes(b"".join(lines[:4]) + lines[4][:10])  # a line is being written
    first = ask(desk, "training", {"since": 0})
    assert first["next"] == sum(map(len, lines[:4]))
    assert not first["finished"]
    log.write_bytes(b"".join(lines))
    second = ask(desk, "training", {"since": first["next"]})
    assert not second["restarted"]
    assert second["finished"]
    every = [json.loads(line) for line in lines]
    for name in ("step", "loss", "gradient_norm"):
        joined = first["steps"][name] + second["steps"][name]
        assert joined == [line[name] for line in every if "loss" in line]
    assert first["epochs"] + second["epochs"] == [line for line in every if "mean_loss" in line]
    log.write_bytes(lines[0])  # resumed from an earlier checkpoint
    assert ask(desk, "training", {"since": second["next"]})["restarted"]


def test_ranks_and_what_else_could_have_stood_there(desks: Desks) -> None:
    desk = desks("language")
    found = ask(desk, "ranks", {"text": runs.SOURCE, "kind": ""})
    scores = score(us.load(desk.folder), runs.SOURCE)
    assert found["rank"] == [one.rank for one in scores]
    assert found["probability"] == pytest.approx([math.exp(one.log_prob) for one in scores])
    assert sum(one["count"] for one in found["counts"]) == len(runs.SOURCE)
    for position in (0, 30):
        params = {"text": runs.SOURCE, "kind": "", "position": position}
        listed = ask(desk, "candidates", params)["likeliest"]
        rank = found["rank"][position]
        if rank <= len(listed):
            assert listed[rank - 1]["token"] == runs.SOURCE[position]
    with pytest.raises(ValueError, match="ranks need a language"):
        ask(desks("tagger"), "ranks", {"text": "the dog"})


@pytest.mark.parametrize("task", TASKS)
def test_units_are_searched_for_in_held_out_text(desks: Desks, task: str) -> None:
    desk = desks(task)
    ask(desk, "units", {})
    desk.jobs.wait()
    found = ask(desk, "units", {})
    assert found["done"]
    assert found["symbols"] > 0
    kind = KINDS.get(task, "")
    layers = ask(desk, "text", {"text": TEXTS[task], "kind": kind})["layers"]
    for unit in found["units"]:
        lines = {line["name"]: line["size"] for line in layers[unit["layer"]]["lines"]}
        assert unit["unit"] < lines[unit["line"]]
    if task == "language":
        assert {unit["property"] for unit in found["units"]} == set(PROPERTIES)
        assert found["excerpt"] in runs.SOURCE * 6
        params = {"text": found["excerpt"], "property": "in_quotes"}
        labels = ask(desk, "property", params)["values"]
        assert labels == PROPERTIES["in_quotes"].label(found["excerpt"]).tolist()


def test_the_users_own_labels(desks: Desks) -> None:
    text = runs.SOURCE * 3
    labels = [float(c == "n") for c in text]
    desk = Desk(desks("language").folder, text=text, labels=labels)
    ask(desk, "units", {})
    desk.jobs.wait()
    found = [one for one in ask(desk, "units", {})["units"] if one["property"] == "your labels"]
    assert found
    assert found[0]["kind"] == "auc"
    desk = Desk(desks("language").folder, text=text, labels=labels[:-1])
    with pytest.raises(ValueError, match="one for each character"):
        settled(desk, "units", {})


def test_states_as_points_and_their_neighbours(desks: Desks) -> None:
    desk = desks("language")
    params = {"text": runs.SOURCE, "kind": "", "layer": 0, "line": "h"}
    found = ask(desk, "trajectory", params)
    values = read(us.load(desk.folder), runs.SOURCE).values(0, "h")
    assert len(found["points"]) == len(values)
    assert 0 <= found["explained"][1] <= found["explained"][0] <= 1
    for point in found["fixed"]:
        assert point["speed"] <= 1e-9
    near = ask(desk, "neighbours", params | {"position": 40})["found"]
    assert near == sorted(near, key=lambda one: one["distance"])
    # The held-out text repeats this very text: the same state comes again.
    assert near[0]["symbol"] == runs.SOURCE[40]


def test_gradients_of_cells_good_and_bad() -> None:
    cells = ["lstm", "h' = tanh(W @ x", "mut1", "h' = relu(W @ x + U @ h)", "no such"]
    found = ask(Desk(), "gradients", {"cells": cells, "steps": 6, "hidden": 4})["flows"]
    assert [bool(flow["error"]) for flow in found] == [False, True, False, False, True]
    assert [len(state["norms"]) for state in found[0]["states"]] == [6, 6]
    assert found[0]["bound"] is None
    pairs = zip(found[3]["measured"], found[3]["bound"], strict=True)
    assert all(measured <= bound * (1 + 1e-6) for measured, bound in pairs)


def test_a_cell_explained_or_its_mistake() -> None:
    found = ask(Desk(), "cell", {"equations": "lstm", "input": 3, "hidden": 5})
    cell = us.cells.LSTM(3, 5)
    assert found["total"] == sum(p.numel() for p in cell.parameters())
    assert {p["name"] for p in found["parameters"]} == set(cell.equations.parameters)
    assert found["error"] is None
    ids = {node["id"] for node in found["graph"]["nodes"]}
    assert all({e["source"], e["target"]} <= ids for e in found["graph"]["edges"])
    wrong = ask(Desk(), "cell", {"equations": "z = x\nh' = tanh(W @ x + f * U @ h)"})
    assert wrong["error"]["line"] == 1
    assert wrong["error"]["hint"]
    text = "h' = tanh(W @ x + f * U @ h)"
    assert text[wrong["error"]["start"] :].startswith("f * U")
    other = ask(Desk(), "cell", {"equations": "/etc/passwd"})
    assert "is no cell" in other["error"]["message"]


def test_a_cell_with_a_slip_is_explained_all_the_same() -> None:
    found = ask(Desk(), "cell", {"equations": "z = W_z @ x\nh' = tanh(W @ x + dt * h)"})
    assert found["error"] is None
    assert found["total"]
    idle, step = found["warnings"]
    assert idle["problem"].startswith("z is computed, and nothing reads it")
    assert (step["line"], step["start"], step["stop"]) == (1, 18, 20)
    assert step["hint"].startswith("write the number, 0.1 for example")


@pytest.mark.parametrize("name", sorted(us.cells.named()))
def test_every_cell_is_explained_and_flows(name: str) -> None:
    found = ask(Desk(), "cell", {"equations": name, "input": 4, "hidden": 4})
    assert found["error"] is None
    assert found["warnings"] == []
    assert found["flow"]["error"] == ""
    json.dumps(finite(found), allow_nan=False)


def test_two_questions_at_once_have_the_answers_of_one() -> None:
    """Cells are drawn from a seed, and torch has one generator for all threads."""
    params = {"cells": ["lstm", "gru"], "steps": 8, "hidden": 6}
    desk = Desk()
    alone = ask(desk, "gradients", params)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: ask(desk, "gradients", params), range(24)))
    assert all(one == alone for one in found)


def test_a_slow_answer_keeps_no_other_waiting() -> None:
    desk, begun, free = Desk(), threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert free.wait(30)
        return 1

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(desk.keep, "slow", slow)
        assert begun.wait(30)
        assert desk.keep("quick", lambda: 2) == 2
        free.set()
        assert first.result() == 1
    assert desk.keep("slow", lambda: 3) == 1  # what was made is kept


def test_jobs_that_go_on_are_not_forgotten() -> None:
    jobs, free = Jobs(), threading.Event()
    started = []

    def work(key: int) -> Callable[[Job], int]:
        return lambda job: (started.append(key), free.wait(30), key)[2]

    for key in range(MOST):
        jobs.see(key, work(key), None)
    with pytest.raises(ValueError, match="going on"):
        jobs.see(MOST, work(MOST), None)
    free.set()
    jobs.wait()
    assert [jobs.see(key, work(key), None).shown for key in range(MOST)] == list(range(MOST))
    assert sorted(started) == list(range(MOST))
    jobs.see(MOST, work(MOST), None)
    jobs.wait()
    assert len(jobs.jobs) <= MOST


def test_what_goes_wrong_in_a_race_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: FirstSymbol) -> float:
        raise ValueError("no update today")

    monkeypatch.setattr(FirstSymbol, "update", fail)
    with pytest.raises(ValueError, match="no update today"):
        settled(Desk(), "race", {"equations": "", "against": ["elman"], "updates": 1})


def test_too_large_a_cell_is_refused_at_once() -> None:
    lines = "\n".join(f"s{k}' = tanh(W{k} @ x + U{k} @ s{k})" for k in range(8)) + "\ny = s0'"
    (flow,) = ask(Desk(), "gradients", {"cells": [lines], "hidden": 64})["flows"]
    assert "fewer units" in flow["error"]


@pytest.mark.parametrize(
    ("best", "patience", "ended"), [(1, 2, True), (2, 2, False), (1, 0, False)]
)
def test_training_that_patience_ended_is_finished(
    desks: Desks, tmp_path: Path, best: int, patience: int, ended: bool
) -> None:
    config = (desks("language").folder / "config.yaml").read_text()
    config = config.replace("epochs: 1", "epochs: 9").replace(
        "patience: 0", f"patience: {patience}"
    )
    (tmp_path / "config.yaml").write_text(config)
    lines = [
        json.dumps({"step": n, "epoch": n, "mean_loss": 1.0, "dev": {}, "best": n == best})
        for n in (1, 2, 3)
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join([*lines[:2], '{"st', lines[2]]) + "\n")
    found = ask(Desk(tmp_path), "training", {"since": 0})
    assert found["finished"] == ended
    assert len(found["epochs"]) == 3  # the damaged line is left out


def test_labels_by_symbol_of_a_long_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its beginning is searched: labels still meet their symbols."""
    run = runs.language(tmp_path, units="words")
    text = "".join(f"name {'x ' * (n % 3)}= value\n" for n in range(200))
    spans = us.load(run).codec.spans(text)
    labels = [float(text[a:b] == "name") for a, b in spans]
    monkeypatch.setattr(import_module("unspool.studio.corpus"), "SYMBOLS", 300)
    desk = Desk(run, text=text, labels=labels)
    found = [one for one in settled(desk, "units", {})["units"] if one["property"] == "your labels"]
    assert found[0]["score"] > 0.95  # some unit knows the first word of a line


def test_a_race_is_run_to_its_end() -> None:
    desk = Desk()
    params = {"equations": "h' = tanh(W @ x + U @ h)", "against": ["lstm_projected", "mut1", "?"]}
    params |= {"updates": 3, "steps": 4}
    ask(desk, "race", params)
    desk.jobs.wait()
    found = ask(desk, "race", params)
    assert found["done"]
    assert [len(racer["losses"]) for racer in found["racers"]] == [3, 3, 3, 0]
    assert found["racers"][3]["error"]
    assert found["racers"][0]["accuracy"] is not None


@pytest.mark.parametrize(
    ("question", "params", "said"),
    [
        ("text", {"text": 3}, "is a text"),
        ("text", {"text": "a" * 200_001}, "at most 200,000"),
        ("text", {"text": " "}, "nothing to read"),
        ("unit", {"text": "ab", "layer": 9}, "layers to look at"),
        ("unit", {"text": "ab", "line": "q"}, "no line 'q'"),
        ("unit", {"text": "ab", "unit": 10**6}, "between 0 and"),
        ("unit", {"text": "ab", "unit": 0.5}, "whole number"),
        ("unit", {"text": "ab", "unit": math.inf}, "whole number"),
        ("unit", {"text": "ab", "kind": "nonsense"}, "told nothing but the text"),
        ("gradients", {"gain": 10**400}, "lies between"),
        ("gradients", {"cells": ["x" * 30_000]}, "at most 20,000"),
        ("translate", {"text": "ab"}, "holds no translator"),
        ("gradients", {"cells": "lstm"}, "a list of texts"),
        ("gradients", {"steps": 10**9}, "lies between"),
        ("gradients", {"gain": True}, "a number"),
        ("neighbours", {"text": "ab", "line": "dL/dh"}, "not gradients"),
        ("nonsense", {}, "there is no question"),
    ],
)
def test_mistakes_are_told(desks: Desks, question: str, params: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ask(desks("language"), question, params)


def test_half_a_surrogate_pair_is_no_trouble(desks: Desks) -> None:
    assert "?" in "".join(ask(desks("language"), "text", {"text": "a\ud800b"})["symbols"])


def test_every_question_is_in_the_contract() -> None:
    source = Path(__file__).parents[2] / "studio" / "src" / "answers.ts"
    text = source.read_text()
    for question in QUESTIONS:
        assert f'/** "{question}" ' in text
