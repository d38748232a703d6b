"""The built wheel has everything that the product needs: it runs outside the checkout."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import httpx
import pytest

from tests.processes import Process, clean_environment, free_port

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a clean environment that has the wheel, and the dependencies of this one by path."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("recount-*.whl")
    venv.create(folder / "venv", with_pip=False)
    packages = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    # A path file adds the folder only: the editable checkout that is linked from it stays out.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    python = folder / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    return folder / "venv" / "bin"


def test_the_installed_product_serves_its_pages(installed: Path, tmp_path: Path) -> None:
    where = "import app, inference_server; print(app.__file__, inference_server.__file__)"
    found = subprocess.run(
        [installed / "python", "-c", where], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert str(ROOT) not in found.stdout
    port = free_port()
    environment = clean_environment(
        RECOUNT_PORT=str(port), RECOUNT_INFERENCE_PORT=str(free_port()), RECOUNT_SETUP_CODE="wheel"
    )
    with Process(str(installed / "recount"), "serve", environment=environment, folder=tmp_path) as process:
        process.until(lambda: "first account" in process.output)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:
            page = http.get("/setup?code=wheel", headers={"accept-language": "ko"})
            assert page.status_code == 200
            assert 'lang="ko"' in page.text
            assert "계정" in page.text
            style = page.text.split('rel="stylesheet" href="')[1].split('"')[0]
            assert http.get(style).headers["content-type"].startswith("text/css")
