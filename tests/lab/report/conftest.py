"""A real browser, and a report of a small benchmark to look at in it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.lab.report.frames import benchmark, failed, records_of

from modernnca.lab.report import write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOSTILE = "<script>document.title='taken'</script>&\"'$x^2$\\|_é中"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium; without one the test is skipped, but fails where CI=true."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        reason = f"No browser is here; install one of: {', '.join(BROWSERS)}."
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it: all tasks, failures, tuned, published, checks."""
    base = benchmark()
    tuned = base[base["method"] == "modernnca"].assign(settings="tuned")
    tuned = tuned.assign(accuracy=tuned["accuracy"] + 0.004, rmse=tuned["rmse"] * 0.98)
    odd = base[base["dataset"] == "table-0"].assign(dataset=HOSTILE)
    lost = [failed("table-1", HOSTILE, error=f"Error: {HOSTILE}")]
    records = pd.concat([base, tuned, odd, records_of(*lost)], ignore_index=True)
    published = pd.DataFrame(
        [["table-0", "binclass", "modernNCA", 0.88, 0.01, 15, True]],
        columns=["dataset", "task", "method", "mean", "std", "n", "higher"],
    )
    checks = pd.DataFrame(
        [["table-0", "duplicate", f"3 rows {HOSTILE}"]],
        columns=["dataset", "kind", "text"],
    )
    return write_report(
        records,
        tmp_path_factory.mktemp("report") / "out",
        title=f"A small benchmark {HOSTILE}",
        published=published,
        checks=checks,
        facts={"command": "bench run", "versions": {"torch": "2"}, "odd": HOSTILE},
        expected=len(records) + 10,
    )
