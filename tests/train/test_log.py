"""What training writes while it runs."""

from pathlib import Path

from unspool.train.log import Log, Update, read_metrics


def test_a_line_is_there_as_soon_as_it_is_written(tmp_path: Path) -> None:
    """Somebody may be looking on."""
    with Log(tmp_path, 0, tensorboard=False) as log:
        log.update(Update(1, 1, 2.5, 10, 0.1, 0.5, 0.01), 0.2)
        (line,) = read_metrics(tmp_path)
        assert line["loss"] == 2.5
        log.epoch(1, 1, 2.5, {"accuracy": 0.5}, True)
        assert read_metrics(tmp_path)[1]["dev"] == {"accuracy": 0.5}
