import shutil
from pathlib import Path

import pytest

from unspool.studio.page import FOLDER, INDEX, SCRIPT, STYLE, read_page


def test_the_page_is_there_and_asks_for_its_own_files_only() -> None:
    page = read_page()
    assert f'src="{SCRIPT}"' in page.index
    assert f'href="{STYLE}"' in page.index
    assert 'id="page"' in page.index
    assert "http://" not in page.index
    assert "https://" not in page.index
    assert page.script.strip()
    assert page.style.strip()


@pytest.mark.parametrize("name", [INDEX, SCRIPT, STYLE])
def test_a_missing_file_is_named_and_how_to_build_it(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(FOLDER, tmp_path / "page")
    (folder / name).unlink()
    with pytest.raises(ValueError, match=rf"{name}: No such file.*npm run build"):
        read_page(folder)
