"""Every view, used as a person would, in a real browser: what it shows are the model's numbers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

import unspool as us
from tests.studio import runs
from tests.studio.conftest import Desks
from unspool.inspect.reading import read
from unspool.models.search import Search, translate
from unspool.studio.desk import Desk
from unspool.studio.questions import Answers, ask

Studio = Callable[[Any], str]


def opened(page: Page, studio: Studio, desk: Desk, view: str) -> str:
    """The view, open; its address."""
    link = f"{studio(Answers(desk))}#/{view}"
    page.goto(link)
    expect(page.locator(f'[data-view="{view}"]')).to_be_visible()
    return link


def numbers(found: Locator, name: str = "data-value") -> list[float]:
    """An attribute of every element, as numbers."""
    values = found.evaluate_all("(all, name) => all.map(e => e.getAttribute(name))", name)
    return [float(value) for value in values]


def points(page: Page, title: str, name: str) -> list[tuple[float, float]]:
    """The points of a line in a chart."""
    chart = page.locator(f'[data-role="lines"][data-title="{title}"]')
    line = chart.locator(f'[data-name="{name}"][data-points]')
    expect(line.first).to_be_attached()
    text = line.first.get_attribute("data-points") or ""
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_training_shows_the_log_and_grows_with_it(
    page: Page, studio: Studio, desks: Desks, tmp_path: Path
) -> None:
    source = desks("translator").folder
    lines = (source / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "config.yaml").write_bytes((source / "config.yaml").read_bytes())
    log = tmp_path / "metrics.jsonl"
    log.write_bytes(b"")
    opened(page, studio, Desk(tmp_path), "training")
    expect(page.get_by_text("No steps yet")).to_be_visible()
    log.write_bytes(b"".join(lines[:3]))
    expect(page.locator('[data-role="lines"]').first).to_be_visible()
    log.write_bytes(b"".join(lines))
    expect(page.locator('[data-role="status"]')).to_contain_text("Finished")
    steps = [json.loads(line) for line in lines]
    wanted = [(line["step"], line["loss"]) for line in steps if "loss" in line]
    assert points(page, "Loss of training", "each step") == wanted
    norms = [(line["step"], line["gradient_norm"]) for line in steps if "loss" in line]
    assert points(page, "Norm of the gradient, before it is cut", "each step") == norms
    for epoch in (line for line in steps if "mean_loss" in line):
        row = page.locator(f'[data-epoch="{epoch["epoch"]}"] [data-name="mean_loss"]')
        assert float(row.get_attribute("data-value") or "") == epoch["mean_loss"]


def test_a_translation_is_the_recorded_search(page: Page, studio: Studio, desks: Desks) -> None:
    desk = desks("translator")
    opened(page, studio, desk, "translate")
    text = f"drei {runs.HOSTILE}"
    page.locator('[data-role="source"]').fill(text)
    page.locator('[data-role="source"]').press("Enter")
    tree = page.locator('[data-role="tree"]')
    expect(tree).to_be_visible()
    (wanted,) = translate(us.load(desk.folder), [text], Search(width=5, nbest=3, record=True))
    assert wanted.tree is not None
    shown = tree.locator("[data-node][data-token]").evaluate_all(
        "all => all.map(e => ({...e.dataset}))"
    )
    by_id = {int(node["node"]): node for node in shown}
    assert by_id.keys() == {node.id for node in wanted.tree.nodes}
    vocabulary = us.load(desk.folder).target.vocabulary
    for node in wanted.tree.nodes:
        own = by_id[node.id]
        assert own["parent"] == ("" if node.parent is None else str(node.parent))
        assert own["token"] == vocabulary.tokens([node.token])[0]
        assert own["fate"] == node.fate
        assert float(own["score"]) == node.score
        assert float(own["total"]) == node.total
    answer = ask(desk, "translate", {"text": text, "width": 5, "nbest": 3})
    cells = page.locator('[data-role="alignment"] [data-row][data-column]')
    values = torch.tensor(numbers(cells), dtype=torch.float64)
    weights = torch.tensor(answer["best"][0]["weights"], dtype=torch.float64)
    assert torch.equal(values.view_as(weights), weights)
    assert torch.allclose(values.view_as(weights).sum(1), torch.ones(len(weights)).double())
    assert len(answer["best"]) == 3
    for one in answer["best"]:
        expect(page.get_by_role("button", name=one["text"]).first).to_be_visible()
    assert page.locator("img").count() == 0  # the hostile token stayed text


def test_a_beam_grows_and_its_link_restores_it(page: Page, studio: Studio, desks: Desks) -> None:
    opened(page, studio, desks("translator"), "translate")
    page.locator('[data-role="source"]').fill("eins vier")
    page.locator('[data-role="translate"]').click()
    nodes = page.locator('[data-role="tree"] [data-node][data-token]')
    expect(nodes.first).to_be_attached()
    every = nodes.count()
    slider = page.locator('input[type="range"]').first
    slider.focus()
    slider.press("Home")
    expect(nodes).not_to_have_count(every)
    few = nodes.count()
    assert 1 <= few < every
    page.wait_for_timeout(400)  # the address is written a moment after the slider rests
    page.reload()
    expect(nodes).to_have_count(few)
    assert page.locator('[data-role="source"]').input_value() == "eins vier"


def test_any_unit_over_a_text(page: Page, studio: Studio, desks: Desks) -> None:
    desk = desks("language")
    opened(page, studio, desk, "text")
    text = 'if x:\n    "a <b>&amp;" # c'
    page.locator('[data-role="text-input"]').fill(text)
    box = page.locator('[data-role="coloured"]')
    expect(box).to_have_attribute("data-count", str(len(text)))
    controls = page.locator('[data-role="colour-controls"]')
    controls.get_by_label("Colour by").select_option("unit")
    controls.get_by_label("Line").select_option("f")
    page.locator('[data-role="unit"]').fill("3")
    page.locator('[data-role="unit"]').press("Enter")
    expect(page.locator('[data-role="legend"]')).to_contain_text("f, unit 3")
    values = read(us.load(desk.folder), text).values(0, "f")[:, 3]
    cursor = page.locator('[data-role="cursor"]')
    box.focus()
    box.press("Home")
    expect(cursor).to_have_attribute("data-index", "0")
    for at in range(0, 6):
        expect(cursor).to_have_attribute("data-index", str(at))
        expect(cursor).to_have_attribute("data-symbol", text[at])
        expect(cursor).not_to_have_attribute("data-value", "")  # the unit's numbers have come
        shown = float(cursor.get_attribute("data-value") or "nan")
        assert shown == pytest.approx(values[at].item(), rel=1e-5)
        box.press("ArrowRight")
    for mark in ("b", "img", "script"):
        assert box.locator(mark).count() == 0


def test_colours_on_the_canvas_follow_the_values(page: Page, studio: Studio, desks: Desks) -> None:
    desk = desks("language")
    opened(page, studio, desk, "text")
    text = "aaaa xx == [1, 2]"
    page.locator('[data-role="text-input"]').fill(text)
    expect(page.locator('[data-role="coloured"]')).to_have_attribute("data-count", str(len(text)))
    controls = page.locator('[data-role="colour-controls"]')
    controls.get_by_label("Colour by").select_option("probability")
    page.wait_for_timeout(300)
    found = ask(desk, "ranks", {"text": text, "kind": ""})["probability"]
    # Colours lie on a canvas of their own, a pixel for each character of a row.
    shades = page.locator('[data-role="coloured"] canvas').evaluate_all(
        """(all, count) => {
            const canvas = all.reduce((a, b) => (a.width < b.width ? a : b));
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, 1);
            const shade = (k) => data[4 * k] + data[4 * k + 1] + data[4 * k + 2];
            return Array.from({ length: count }, (_, k) => shade(k));
        }""",
        len(text),
    )
    low, high = found.index(min(found)), found.index(max(found))
    assert shades[low] != shades[high]
    order = sorted(range(len(text)), key=lambda k: found[k])
    ranked = [shades[k] for k in order]
    assert ranked == sorted(ranked) or ranked == sorted(ranked, reverse=True)


def test_ranks_candidates_and_discovered_units(page: Page, studio: Studio, desks: Desks) -> None:
    desk = desks("language")
    opened(page, studio, desk, "text")
    page.locator('[data-role="text-input"]').fill(runs.SOURCE)
    count = str(len(runs.SOURCE))
    expect(page.locator('[data-role="coloured"]')).to_have_attribute("data-count", count)
    page.locator('[data-role="colour-controls"]').get_by_label("Colour by").select_option("rank")
    counts = page.locator('[data-role="rank-count"]')
    expect(page.get_by_text("bits a symbol on average")).to_be_visible()
    rank = ask(desk, "ranks", {"text": runs.SOURCE, "kind": ""})["rank"]
    limits = [sum(one <= limit for one in rank) for limit in (10, 100, 1000, 10**9)]
    assert numbers(counts) == [a - b for a, b in zip(limits, [0, *limits], strict=False)]
    box = page.locator('[data-role="coloured"]')
    box.focus()
    box.press("Home")
    box.press("ArrowRight")
    candidates = page.locator('[data-role="candidates"] [data-token]')
    expect(candidates.first).to_be_visible()
    listed = ask(desk, "candidates", {"text": runs.SOURCE, "kind": "", "position": 1})["likeliest"]
    expect(candidates.first).to_have_attribute("data-token", listed[0]["token"])
    assert numbers(candidates) == [one["probability"] for one in listed]
    search = page.locator('[data-role="search-units"]')
    if search.count():
        search.click()
    units = page.locator('[data-role="found-unit"]')
    expect(units.first).to_be_visible(timeout=30_000)
    found = ask(desk, "units", {})["units"]
    assert numbers(units) == [one["score"] for one in found]
    units.first.click()
    expect(page.locator('[data-role="unit"]')).to_have_value(str(found[0]["unit"]))


def test_gradients_side_by_side(page: Page, studio: Studio) -> None:
    desk = Desk()
    opened(page, studio, desk, "gradients")
    flows = page.locator('[data-role="flow"]')
    expect(flows.first).to_be_visible()
    names = flows.evaluate_all("all => all.map(e => e.dataset.name)")
    answer = ask(desk, "gradients", {"cells": names})
    for at, flow in enumerate(answer["flows"]):
        line = flows.nth(at).locator('[data-name="measured"][data-points]')
        text = line.get_attribute("data-points") or ""
        shown = [float(pair.split(",")[1]) for pair in text.split()]
        assert shown == flow["measured"]
    slider = page.get_by_role("slider", name="Step t")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowLeft")
    step = int(slider.input_value())
    bars = flows.first.locator('[data-role="singular"] [data-value]')
    assert numbers(bars) == answer["flows"][0]["singular"][step]
    surface = page.locator('[data-role="surface"]')
    expect(surface).to_be_visible()
    cliff = ask(desk, "cliff", {})
    path = surface.locator('[data-name="clipped"][data-points]').get_attribute("data-points") or ""
    first = [float(n) for n in path.split()[0].split(",")]
    assert first == cliff["clipped"]["points"][0]


def test_a_cell_is_edited_mended_and_raced(page: Page, studio: Studio) -> None:
    opened(page, studio, Desk(), "cell")
    equations = page.locator('[data-role="equations"]')
    equations.fill("z = sigmoid(W_z @ x + U_z @ h)\nh' = tanh(W @ x + f * U @ h)")
    error = page.locator('[data-role="cell-error"]')
    expect(error).to_be_visible()
    expect(error).to_have_attribute("data-line", "1")
    expect(error).to_contain_text("bracket the product")
    equations.fill("z = sigmoid(W_z @ x + U_z @ h)\nh' = z * h + (1 - z) * tanh(W @ x)")
    expect(error).to_be_hidden()
    warning = page.locator('[data-role="cell-warning"]')
    expect(warning).to_have_count(0)
    equations.fill("z = sigmoid(W_z @ x)\nh' = tanh(W @ x)")
    expect(warning).to_contain_text("Line 1, column 1: z is computed, and nothing reads it")
    expect(page.locator('[data-role="derived"]')).to_have_attribute("data-stale", "false")
    equations.fill("z = sigmoid(W_z @ x + U_z @ h)\nh' = z * h + (1 - z) * tanh(W @ x)")
    expect(warning).to_have_count(0)
    sizes = {"input": 32, "hidden": 32}
    wanted = ask(Desk(), "cell", {"equations": equations.input_value(), **sizes})
    expect(page.locator('[data-role="total"]')).to_have_attribute(
        "data-value", str(wanted["total"])
    )
    nodes = page.locator('[data-role="graph"] [data-node][data-label]')
    expect(nodes).to_have_count(len(wanted["graph"]["nodes"]))
    page.get_by_label("Updates").fill("3")
    page.get_by_label("Updates").press("Enter")
    page.locator('[data-role="start-race"]').click()
    race = page.locator('[data-role="race"]')
    expect(race).to_have_attribute("data-done", "true", timeout=30_000)
    assert race.locator("[data-name][data-value]").count() >= 2


@pytest.mark.parametrize("task", ["classifier", "tagger", "translator", "language"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_of_every_task_fits_and_stays_quiet(
    page: Page, studio: Studio, desks: Desks, task: str, dark: bool
) -> None:
    """Narrow and wide, in both themes: nothing sticks out sideways, nothing fails."""
    desk = desks(task)
    page.emulate_media(color_scheme="dark" if dark else "light")
    link = studio(Answers(desk))
    for view in ask(desk, "run", {})["views"]:
        for width in (760, 1280)[: 1 if dark else 2]:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{link}#/{view}")
            expect(page.locator(f'[data-view="{view}"]')).to_be_visible()
            page.wait_for_load_state("networkidle")
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{view} is {wide} pixels wide"
            assert page.locator('[data-role="notice-error"]').count() == 0


def test_views_change_by_keyboard(page: Page, studio: Studio) -> None:
    opened(page, studio, Desk(), "gradients")
    page.locator('[data-tab="gradients"]').focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator('[data-view="cell"]')).to_be_visible()
    page.go_back()
    expect(page.locator('[data-view="gradients"]')).to_be_visible()


def test_a_mistake_is_told_in_the_page(
    page: Page, studio: Studio, desks: Desks, trouble: list[str]
) -> None:
    opened(page, studio, desks("tagger"), "text")
    page.locator('[data-role="text-input"]').fill("")
    expect(page.locator('[data-role="notice-empty"]').first).to_be_visible()
    page.locator('[data-role="text-input"]').fill("  ")  # no word to tag
    error = page.locator('[data-role="notice-error"]')
    expect(error).to_contain_text("type or paste a text")
    assert all("400" in line for line in trouble)
    trouble.clear()
