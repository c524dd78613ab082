"""The report: one file, opened from disk, that asks nobody and shows the same numbers."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from typer.testing import CliRunner

from tests.studio import runs
from tests.studio.conftest import Desks
from unspool.cli import app
from unspool.studio import browser
from unspool.studio.browser import find_browser
from unspool.studio.desk import Desk
from unspool.studio.questions import ask
from unspool.studio.report import gather, page_with, write_report

HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)>"


def stored(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="stored">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found[1])


@pytest.mark.parametrize(
    "task", ["language", "translator", "classifier", "tagger", "classes", "tagged"]
)
def test_a_report_of_every_task_opens_from_disk(
    page: Page, desks: Desks, tmp_path: Path, task: str
) -> None:
    path = tmp_path / "report.html"
    views = write_report(desks(task), path).views
    assert views == ask(desks(task), "run", {})["views"]
    assert path.stat().st_size < 2_000_000
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for view in views:
        page.goto(f"{path.as_uri()}#/{view}")
        expect(page.locator(f'[data-view="{view}"]')).to_be_visible()
        expect(page.locator(f'[data-view="{view}"] h2').first).to_be_visible()
        expect(page.locator('[data-role="notice-error"]')).to_have_count(0)
        without = task == "tagged" and view == "translate"  # that model has no attention to show
        expect(page.locator('[data-role="notice-empty"]')).to_have_count(int(without))
    expect(page.locator('[data-role="report-footer"]')).to_contain_text("Unspool")
    assert {url.split("#")[0] for url in requests if not url.startswith("data:")} == {path.as_uri()}


def test_the_answers_are_those_of_the_studio(desks: Desks, tmp_path: Path) -> None:
    desk, path = desks("translator"), tmp_path / "report.html"
    write_report(desk, path, ["eins zwei"])
    found = stored(path)
    (params,) = found["offers"]["translate"]
    assert params["text"] == "eins zwei"
    key = next(key for key in found["answers"] if key.startswith("translate "))
    assert found["answers"][key] == ask(desk, "translate", params)
    assert json.loads(key.removeprefix("translate ")) == params


def test_hostile_texts_stay_text(page: Page, desks: Desks, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(desks("translator"), path, [f"eins {runs.HOSTILE}", HOSTILE])
    text = path.read_text(encoding="utf-8")
    assert text.count("<script") == 2  # the answers, and the page's own
    for view in ("translate", "text"):
        page.goto(f"{path.as_uri()}#/{view}?pick=1")
        expect(page.locator(f'[data-view="{view}"]')).to_be_visible()
        assert page.locator("img").count() == 0
        expect(page.get_by_text("onerror", exact=False).first).to_be_attached()


def test_only_the_pages_own_script_may_run(page: Page, trouble: list[str], tmp_path: Path) -> None:
    """A script that got into the file all the same is not run: its hash is not named."""
    text = page_with(gather(Desk(), [])[0])
    path = tmp_path / "report.html"
    path.write_text(text.replace("</body>", "<script>window.ran = 1</script></body>"))
    page.goto(path.as_uri())
    expect(page.locator('[data-view="gradients"]')).to_be_visible()
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in line for line in trouble)
    trouble.clear()


def test_a_report_needs_no_file_outside_the_run(tmp_path: Path) -> None:
    source = runs.classifier(tmp_path)
    (tmp_path / "words.tsv").unlink()
    path = tmp_path / "report.html"
    assert not write_report(Desk(source), path).notes
    assert stored(path)["answers"]["run {}"]["examples"]


def test_a_run_that_has_kept_no_texts_shows_those_that_are_given(tmp_path: Path) -> None:
    source = runs.classifier(tmp_path)
    (source / "held_out.json").unlink()
    path = tmp_path / "report.html"
    (note,) = write_report(Desk(source), path, ["abab"]).notes
    assert str(tmp_path / "words.tsv") in note
    assert "--file FILE" in note
    contents = stored(path)
    assert "units" not in contents["offers"]
    assert contents["offers"]["unit"]


def test_a_report_names_files_without_their_folders(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(Desk(runs.classifier(tmp_path)), path)
    assert stored(path)["answers"]["run {}"]["settings"]["data"]["train"] == "words.tsv"
    assert str(tmp_path) not in path.read_text()


def test_the_command_writes_report_and_pictures(
    desks: Desks, tmp_path: Path, chromium: Path
) -> None:
    out, png = tmp_path / "r.html", tmp_path / "png"
    command = ["report", str(desks("tagger").folder), "--text", "the dog", "-o", str(out)]
    result = CliRunner().invoke(app, [*command, "--png", str(png)])
    assert result.exit_code == 0, result.output
    assert "open it in a browser" in result.output
    taken = {path.name for path in png.iterdir()}
    assert taken == {"training.png", "text.png", "gradients.png", "cell.png"}
    for path in png.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")


def test_pictures_without_a_browser_are_refused(
    desks: Desks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "NAMES", ())  # not the path: a kernel may have to be compiled
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert find_browser() is None
    out = tmp_path / "r.html"
    command = ["report", str(desks("tagger").folder), "-o", str(out), "--png", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, ValueError)
    assert "no Chromium or Chrome here" in str(result.exception)
    assert out.is_file()  # the report is there all the same


def test_wrong_labels_are_told(desks: Desks, tmp_path: Path) -> None:
    desk = Desk(desks("language").folder, text=runs.SOURCE, labels=[0.0, 1.0])
    with pytest.raises(ValueError, match="there are 2 labels"):
        write_report(desk, tmp_path / "report.html")


def test_what_cannot_be_is_refused_before_any_work(desks: Desks, tmp_path: Path) -> None:
    run = desks("language").folder
    (tmp_path / "file").write_text("x")
    for given, said in (
        (["-o", str(tmp_path / "none" / "r.html")], "is no folder"),
        (["--png", str(tmp_path / "file")], "is a file"),
        (["--text", " "], "is empty"),
    ):
        result = CliRunner().invoke(app, ["report", str(run), *given])
        assert said in str(result.exception)
    result = CliRunner().invoke(app, ["studio", "--file", str(tmp_path / "file")])
    assert "name the run too" in str(result.exception)


def test_labels_need_their_text(desks: Desks, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("1\n0\n")
    run = str(desks("language").folder)
    result = CliRunner().invoke(app, ["report", run, "--labels", str(tmp_path / "labels.txt")])
    assert isinstance(result.exception, ValueError)
    assert "--file" in str(result.exception)


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    for command in ("report", "studio"):
        result = CliRunner().invoke(app, [command, str(tmp_path)])
        assert isinstance(result.exception, ValueError)
        assert "is not a run" in str(result.exception)
