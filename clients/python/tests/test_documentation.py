"""The examples of the documentation run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import KEY

import orbweaver
from orbweaver import Orbweaver

PAGE = Path(__file__).parents[3] / "docs" / "coming-from.md"
EXAMPLES = re.findall(r"^```(python|sh)\n(.*?)^```", PAGE.read_text(), re.M | re.S)


@pytest.mark.parametrize("language, code", EXAMPLES)
def test_an_example_runs(language: str, code: str, service: str, site: str) -> None:
    with Orbweaver(service, KEY) as web:
        run = web.start_crawl(f"{site}/")
    code = code.replace("https://example.com", site).replace("/crawls/1/", f"/crawls/{run['id']}/")
    environment = dict(os.environ, ORBWEAVER_URL=service, ORBWEAVER_KEY=KEY)
    # Of the package that is tested, installed or not.
    environment["PYTHONPATH"] = str(Path(orbweaver.__file__).parents[1])
    command = [sys.executable, "-c", code] if language == "python" else ["bash", "-ec", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and '"error"' not in done.stdout, done.stdout


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6
