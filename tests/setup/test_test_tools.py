"""What the tests need of the system is installed for root, and named in one line for everybody else."""

import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent.parent / ".ci" / "test_tools"


def test_who_is_not_root_is_told_in_one_line_what_to_install(tmp_path: Path) -> None:
    for tool in ("bash", "paste"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    (tmp_path / "id").write_text(f"#!{shutil.which('bash')}\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    done = subprocess.run(
        ["bash", SCRIPT], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "sudo apt-get install pulseaudio pulseaudio-utils" in done.stderr
    assert done.stderr.endswith("tmux chromium\n")


def test_where_nothing_is_missing_nothing_is_said() -> None:
    assert subprocess.check_output([SCRIPT], stderr=subprocess.STDOUT, timeout=30) == b""
