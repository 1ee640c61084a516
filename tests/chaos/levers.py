"""Where a running process can be bent from outside: signals, fail points, its clock."""
import pathlib
import re

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"


def is_stopped(process):
    """Whether a process is stopped by a signal, as the kernel says."""
    stat = pathlib.Path(f"/proc/{process.process.pid}/stat").read_text(encoding="utf-8")
    return stat.rsplit(")", 1)[1].split()[0] == "T"


def fail_points():
    """The names of all fail points that a leader passes, from the sources; no leader restores an archive."""
    names = set()
    for source in SOURCES.rglob("*.cc"):
        if not source.name.endswith("_test.cc") and "archive" not in source.parts:
            names.update(re.findall(r'TAKT_FAIL_POINT\("([^"]+)"\)', source.read_text("utf-8")))
    return sorted(names)


def faketime(folder, name, offset):
    """Variables that shift a process's wall clock, and the file that says by how much."""
    library = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))),
                   None)
    if library is None:
        raise AssertionError("libfaketime is not installed; ./dev setup installs it")
    file = pathlib.Path(folder) / f"{name}.clock"
    file.write_text(offset, encoding="utf-8")
    return {"LD_PRELOAD": str(library), "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}, file
