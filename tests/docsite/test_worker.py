"""The search of the site runs in a folder that is opened without a server, where browsers allow no worker."""

from pathlib import Path

from tests.browser import open_browser

SCRIPT = (Path(__file__).parents[2] / "docs" / "assets" / "iframe-worker.js").read_text()

PAGE = """
<!doctype html><html><body><p></p><script>{script}</script><script>
  const worker = new Worker("worker.js"), said = [];
  worker.addEventListener("message", ({{ data }}) => {{
    said.push(data);
    document.querySelector("p").textContent = said.join(" ");
  }});
  for (const number of [1, 2]) worker.postMessage(number);
  setTimeout(() => worker.postMessage(3), 500);
</script></body></html>
"""


def test_a_worker_in_a_folder_answers_every_message_in_order(tmp_path: Path) -> None:
    (tmp_path / "worker.js").write_text("addEventListener('message', ({data}) => postMessage(10 * data));")
    (tmp_path / "index.html").write_text(PAGE.format(script=SCRIPT))
    with open_browser() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "index.html").as_uri())
        page.get_by_text("10 20 30").wait_for(timeout=15_000)
