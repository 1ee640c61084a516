"""Processes of a measurement: started in folders and on ports of their own, ended by their ids, and
what they used, read from /proc."""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS = 180  # RabbitMQ takes 5 s here, and over a minute when the machine is busy.
STOP_SECONDS = 20


class Failure(Exception):
    """A measurement that cannot go on; the text says why."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Folder:
    """A temporary folder with one subfolder for each process."""

    def __init__(self, parent=None):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="takt-bench-", dir=parent))
        self.path.chmod(0o711)  # Servers that refuse to run as root must get through.

    def make(self, name, user=None):
        path = self.path / name
        path.mkdir()
        if user:
            entry = pwd.getpwnam(user)
            os.chown(path, entry.pw_uid, entry.pw_gid)
        return path

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def die_with_parent(cpus):
    """What a child does before it becomes its program."""
    libc = ctypes.CDLL(None)

    def prepare():
        libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if cpus:
            os.sched_setaffinity(0, cpus)

    return prepare


def unprivileged(user):
    """Arguments of Popen that make the child run as `user`; none if we are not root anyway."""
    if os.geteuid() != 0 or user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Process:
    """A program that runs until stop()."""

    def __init__(
        self, name, command, log, cpus=None, user=None, stop_with=signal.SIGTERM, **others
    ):
        self.name = name
        self.log = log
        self.stop_with = stop_with
        with open(log, "ab") as output:
            self.popen = subprocess.Popen(
                [str(word) for word in command],
                stdin=others.pop("stdin", subprocess.DEVNULL),
                stdout=others.pop("stdout", output),
                stderr=output,
                start_new_session=True,
                preexec_fn=die_with_parent(cpus),
                **unprivileged(user),
                **others,
            )

    @property
    def pid(self):
        return self.popen.pid

    def wait_until(self, ready, seconds=START_SECONDS):
        end = time.monotonic() + seconds
        while not ready():
            if self.popen.poll() is not None or time.monotonic() > end:
                self.stop()
                raise Failure(f"{self.name} did not come up: {self.tail()}")
            time.sleep(0.05)

    def wait_for_port(self, port):
        def ready():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        self.wait_until(ready)

    def tail(self):
        try:
            return pathlib.Path(self.log).read_text(errors="replace")[-2000:].strip() or "no output"
        except OSError as error:
            return str(error)

    def stop(self):
        """Asks it to end, and ends it and its children if it does not."""
        if self.popen.poll() is None:
            self.popen.send_signal(self.stop_with)
            try:
                self.popen.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        try:  # Its session is its own: what is left in there was started by it.
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe:
                pipe.close()


def read_stat(pid):
    """Name, parent and CPU seconds (its own, its ended children's); None if it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    name = text[text.index("(") + 1 : text.rindex(")")]
    rest = text[text.rindex(")") + 2 :].split()
    return {
        "name": name,
        "parent": int(rest[1]),
        "cpu": (int(rest[11]) + int(rest[12])) / TICKS,
        "cpu_of_ended": (int(rest[13]) + int(rest[14])) / TICKS,
    }


def family(pid):
    """The process and all that descend from it, with their stat."""
    everyone = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := read_stat(entry)):
            everyone[int(entry)] = stat
    members = {pid} & everyone.keys()
    while True:
        more = {p for p, stat in everyone.items() if stat["parent"] in members} - members
        if not more:
            return {p: everyone[p] for p in members}
        members |= more


def memory(pid):
    """Proportional and peak resident bytes."""
    sizes = {}
    for file, field in (("smaps_rollup", "Pss:"), ("status", "VmHWM:")):
        try:
            for line in pathlib.Path(f"/proc/{pid}/{file}").read_text().splitlines():
                if line.startswith(field):
                    sizes[field] = int(line.split()[1]) * 1024
        except OSError:
            pass  # It has just ended, or belongs to somebody whose memory we may not read.
    return {"pss_bytes": sizes.get("Pss:"), "peak_bytes": sizes.get("VmHWM:")}


def cpu_seconds(pid):
    return sum(stat["cpu"] + stat["cpu_of_ended"] for stat in family(pid).values())


def machine_cpu():
    """Seconds that all cores were busy, and seconds that were stolen from this machine."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, _idle, _wait, irq, softirq, steal = (int(f) / TICKS for f in fields[:8])
    return user + nice + system + irq + softirq, steal


class Meter:
    """CPU of named groups of processes while a phase runs, and what others took meanwhile."""

    def __init__(self, groups):
        self.groups = groups  # {name: [pid]}
        self.begin = time.monotonic()
        self.busy, self.steal = machine_cpu()
        self.before = {name: sum(map(cpu_seconds, pids)) for name, pids in groups.items()}

    def read(self, ended=None):
        """`ended`: CPU seconds of processes that lived only meanwhile, by name."""
        seconds = time.monotonic() - self.begin
        used = {
            name: max(0.0, sum(map(cpu_seconds, pids)) - self.before[name])
            for name, pids in self.groups.items()
        }
        used |= ended or {}
        busy, steal = machine_cpu()
        return {
            "cpu_seconds": used,
            "foreign_cores": max(0.0, (busy - self.busy - sum(used.values())) / seconds),
            "steal_cores": (steal - self.steal) / seconds,
        }


def describe(groups):
    """Every process with its CPU and memory, for the record."""
    found = []
    for role, pids in groups.items():
        for root in pids:
            for pid, stat in sorted(family(root).items()):
                found.append(
                    {"role": role, "name": stat["name"], "cpu_seconds": stat["cpu"], **memory(pid)}
                )
    return found
