"""Take the picture of a report for the documentation::

python -m tests.support.report_picture results/mine scenario/access/lte docs/results/report.png
"""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH_PX, HEIGHT_PX = 1240, 1900
COLOURS = 128  # of the PNG, which is a third as large then


def main(folder: str, page_name: str, output: str) -> None:
    """Write the top of one page as a PNG, drawn by the Chromium of this machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX}, color_scheme="light")
        page.goto(f"{Path(folder, 'report.html').resolve().as_uri()}#{page_name}")
        page.locator(".page.current .main-svg").first.wait_for()
        page.locator(".page.current .readout output:not(:empty)").wait_for()
        picture = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    picture.quantize(COLOURS).save(output, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
