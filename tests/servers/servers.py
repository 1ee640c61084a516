#!/usr/bin/env python3
"""Runs the tests of a store against servers of other versions than this machine's own.

usage: servers.py [--list] [--filter FILTER] [--result FILE] [NAME…]

The tests start their servers by name (redis-server, etcd, mariadbd). So a folder with other programs of these names,
in front of PATH, is all that they need. Here it is made of packages of other releases, unpacked beside each
other in build-servers/, each run by the dynamic linker and the libraries of its own release; nothing is installed.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TAKT_BUILD", ROOT / "build"))
HERE = pathlib.Path(os.environ.get("TAKT_SERVERS", ROOT / "build-servers"))
DEBIAN = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {0} main"
# Its keys are not part of Debian: the index is fetched over HTTP and taken as it is, for tests only.
UBUNTU = "\n".join(f"deb [trusted=yes] http://archive.ubuntu.com/ubuntu {{0}}{part} main universe"
                   for part in ("", "-updates"))
SECONDS_MAX = 1200  # Of one server's tests.
ETCD_MAIN = """package main

import (
\t"os"

\t"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""


class Release:
    """Programs of packages of a release, and how to run them here."""

    def __init__(self, sources, suite, packages, programs, store):
        self.sources, self.suite, self.packages, self.programs = sources, suite, packages, programs
        self.store = store

    def make(self, folder):
        root = folder / "root"
        if not root.exists():
            unpack(self.sources.format(self.suite), self.packages, folder / "apt", root)
        folders = [root / "usr/lib/x86_64-linux-gnu", root / "lib/x86_64-linux-gnu",
                   root / "usr/lib/mysql/private"]
        linker = next(path.resolve() if path.resolve().exists() else path.parent / path.readlink().name
                      for path in (each / "ld-linux-x86-64.so.2" for each in folders[:2])
                      if path.is_symlink() or path.exists())
        shutil.rmtree(folder / "bin", ignore_errors=True)
        for name, program in self.programs.items():
            if "{run}" not in program:
                program = "exec {run} {root}/" + program + ' "$@"'
            run = f"{linker} --library-path {':'.join(map(str, folders))}"
            script(folder / "bin" / name, program.format(run=run, root=root))


class Etcd:
    """Built from the Go module proxy, whose zip has all of the server but a main of its own name."""
    store = "etcd"

    def __init__(self, version):
        self.version = version

    def make(self, folder):
        source = folder / "source"
        source.mkdir(parents=True, exist_ok=True)
        (folder / "bin").mkdir(exist_ok=True)
        if (folder / "bin/etcd").exists():
            return
        (source / "main.go").write_text(ETCD_MAIN, encoding="utf-8")
        (source / "go.mod").unlink(missing_ok=True)
        for command in (["go", "mod", "init", "etcd"],
                        ["go", "get", f"go.etcd.io/etcd/server/v3@{self.version}"],
                        ["go", "build", "-o", folder / "bin/etcd", "."]):
            run(command, cwd=source)


MYSQLD = ("{run} {root}/usr/sbin/mysqld --no-defaults --basedir={root}/usr "
          "--lc-messages-dir={root}/usr/share/mysql --secure-file-priv=NULL")
MYSQL = {
    # The tests speak to mariadbd; of its options MySQL has all but the size of the log.
    "mariadb-install-db": "for word; do case $word in --datadir=*|--user=*) own=\"$own $word\" ;; esac; done\n"
                          f"exec {MYSQLD} --initialize-insecure $own",
    "mariadbd": "for word; do\n    shift\n"
                "    case $word in --no-defaults|--innodb-log-file-size=*) ;; *) set -- \"$@\" \"$word\" ;; esac\n"
                f"done\nexec {MYSQLD} --mysqlx=OFF \"$@\"",
}
# Its tables are made by this machine's own release, and raised by the other.
MARIADB = {"mariadbd": 'exec {run} {root}/usr/sbin/mariadbd "$@" --lc-messages-dir={root}/usr/share/mariadb'}
# The tests' own redis-cli speaks with all of them, and has options that older ones have not.
REDIS = {"redis-server": "usr/bin/redis-server"}
VALKEY = {"redis-server": "usr/bin/valkey-server"}
SERVERS = {
    "redis-6.0": Release(DEBIAN, "bullseye", ["redis-server"], REDIS, "redis"),
    "redis-8.0": Release(DEBIAN, "trixie", ["redis-server"], REDIS, "redis"),
    "valkey-8.1": Release(DEBIAN, "trixie", ["valkey-server"], VALKEY, "redis"),
    "etcd-3.5": Release(DEBIAN, "trixie", ["etcd-server", "etcd-client"],
                        {"etcd": "usr/bin/etcd", "etcdctl": "usr/bin/etcdctl"}, "etcd"),
    "etcd-3.6": Etcd("v3.6.16"),
    "mariadb-11.8": Release(DEBIAN, "trixie", ["mariadb-server-core"], MARIADB, "mysql"),
    "mysql-8.0": Release(UBUNTU, "noble", ["mysql-server-core-8.0"], MYSQL, "mysql"),
    "mysql-9.7": Release(DEBIAN, "sid", ["mysql-server-core"], MYSQL, "mysql"),
}
VERSION = {"redis": ["redis-server", "--version"], "etcd": ["etcd", "--version"],
           "mysql": ["mariadbd", "--version"]}


def say(text):
    print(text, flush=True)


def run(command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if ended.returncode != 0:
        raise SystemExit(f"servers: {' '.join(map(str, command))} failed: {ended.stdout[-500:]}{ended.stderr[-500:]}")
    return ended.stdout


def script(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def unpack(sources, packages, apt, root):
    """Fetches packages of a release, with all that they need, and unpacks them to `root`."""
    for folder in ("state/lists/partial", "cache/archives/partial", "etc"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "etc/sources.list").write_text(sources + "\n", encoding="utf-8")
    options = {"Dir::State": apt / "state", "Dir::State::status": apt / "status", "Dir::Cache": apt / "cache",
               "Dir::Etc": apt / "etc", "Dir::Etc::sourcelist": apt / "etc/sources.list",
               "Dir::Etc::sourceparts": "/dev/null", "APT::Install-Recommends": "false",
               "APT::Architecture": "amd64", "Acquire::Languages": "none", "APT::Sandbox::User": "root"}
    apt_get = ["apt-get", *[word for key, value in options.items() for word in ("-o", f"{key}={value}")], "-qq"]
    run([*apt_get, "update"])
    run([*apt_get, "install", "-y", "--download-only", *packages])
    draft = root.with_suffix(".new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        run(["dpkg-deb", "-x", package, draft])
    draft.rename(root)
    shutil.rmtree(apt)


def test(name, filter_):
    """The outcome, as the report reads it."""
    server, folder = SERVERS[name], HERE / name
    server.make(folder)
    env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    said = run(VERSION[server.store], env=env)
    version = re.search(r"\d+\.\d+\.\d+", said.splitlines()[0])[0]
    log = folder / "test.log"
    with log.open("wb") as output:
        code = subprocess.run([BUILD / f"store_{server.store}_test", f"--gtest_filter={filter_}", "--gtest_brief=1"],
                              stdout=output, stderr=output, env=env, cwd=ROOT, timeout=SECONDS_MAX,
                              check=False).returncode
    text = log.read_text(encoding="utf-8", errors="replace")
    ran = re.search(r"(\d+) tests? from", text)
    failed = sorted(set(re.findall(r"^\[  FAILED  \] ([^\s,]+)", text, re.M)))
    if code != 0 and not failed:
        failed = [f"ended with {code}"]
    if failed:
        say(f"servers: {name}: see {log}")
    return {"name": name, "version": version, "tests": int(ran[1]) if ran else 0, "failed": failed}


def keep(outcomes, file):
    """Writes the outcomes, in the place of earlier ones of the same servers."""
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    found = {one["name"]: one for one in [*before, *outcomes]}
    file.write_text(json.dumps([found[name] for name in SERVERS if name in found], indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Runs the tests of a store against servers of other versions.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--filter", default="*StoreConformance*", help="of the test program [%(default)s]")
    parser.add_argument("--result", type=pathlib.Path, help="keep the outcomes in this file, as JSON")
    parser.add_argument("--list", action="store_true", help="show the servers and end")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in SERVERS]
    if unknown:
        raise SystemExit(f"servers: there is no {', '.join(unknown)}; --list shows which there are")
    if options.list:
        say("\n".join(SERVERS))
        return 0
    outcomes = []
    for name in options.names or SERVERS:
        outcomes.append(test(name, options.filter))
        one = outcomes[-1]
        say(f"{name:14} {one['version']:10} {one['tests']} tests, "
            f"{'FAILED: ' + ', '.join(one['failed']) if one['failed'] else 'all held'}")
    if options.result:
        keep(outcomes, options.result)
    return 1 if any(one["failed"] for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
