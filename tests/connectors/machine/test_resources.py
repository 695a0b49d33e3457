"""The limits of a container are those of the tightest group that the process is in."""

from pathlib import Path

import pytest

from connectors.machine.resources import CgroupLimits, limits


def tree(folder: Path, own: str, files: dict[str, str]) -> CgroupLimits:
    """The limits with these files below the root of the groups."""
    (folder / "own").write_text(own)
    for name, text in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return limits(folder / "root", folder / "own")


def test_version_2_gives_the_tightest_of_all_groups_above(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        "0::/a/b\n",
        {
            "a/b/cpu.max": "max 100000\n",
            "a/cpu.max": "150000 100000\n",
            "a/b/memory.max": "4000\n",
            "a/b/memory.current": "3000\n",
            "a/b/memory.stat": "active_file 7\ninactive_file 500\n",
            "a/memory.max": "max\n",
        },
    )
    assert found == CgroupLimits(cores=1.5, memory=1500)


def test_version_1_gives_quota_and_memory_of_its_controllers(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n",
        {
            "cpu,cpuacct/job/cpu.cfs_quota_us": "200000\n",
            "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "memory/job/memory.limit_in_bytes": "9000\n",
            "memory/job/memory.usage_in_bytes": "1000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert found == CgroupLimits(cores=2.0, memory=8000)


def test_the_path_of_the_host_that_is_absent_in_a_container_means_the_root(tmp_path: Path) -> None:
    assert tree(tmp_path, "0::/host/path\n", {"cpu.max": "50000 100000"}).cores == 0.5


@pytest.mark.parametrize(
    "files", [{}, {"cpu.max": "max 100000", "memory.max": "max"}, {"cpu.max": "x y", "memory.max": "?"}]
)
def test_without_limits_there_are_none(tmp_path: Path, files: dict[str, str]) -> None:
    assert tree(tmp_path, "0::/\nnonsense\n", files) == CgroupLimits(None, None)


def test_a_system_without_groups_has_no_limits(tmp_path: Path) -> None:
    assert limits(tmp_path / "root", tmp_path / "own") == CgroupLimits(None, None)
