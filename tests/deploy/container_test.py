"""The Dockerfile without Docker: its list of libraries against the binary, the scripts that it copies
against real servers. deploy/check-container runs its last stage in a chroot."""
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

from support import DEPLOY, SOURCE, load

import harness
from harness import TaktTest, until

HEALTHCHECK = DEPLOY / "container" / "takt-healthcheck"


def instructions():
    """(name, rest) of each instruction, continuation lines joined."""
    text = (SOURCE / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


class Dockerfile(unittest.TestCase):
    def runtime(self):
        lines = instructions()
        return lines[max(at for at, line in enumerate(lines) if line[0] == "FROM"):]

    def packages(self):
        install = next(rest for name, rest in self.runtime() if name == "RUN" and "apt-get" in rest)
        words = shlex.split(install.split("install", 1)[1].split("&&")[0])
        return [word for word in words if not word.startswith("-")]

    def closure(self, packages):
        """The packages with all that they depend on, as far as it is installed here."""
        lines = output("dpkg-query", "-W", "-f", "${Package}\t${Pre-Depends}, ${Depends}\n").splitlines()
        needs = {name: re.findall(r"[a-z0-9][a-z0-9+.-]+(?=[ ,:(|]|$)", rest)
                 for name, rest in (line.split("\t") for line in lines)}
        found, open_ = set(), list(packages)
        while open_:
            name = open_.pop()
            if name not in found and name in needs:
                found.add(name)
                open_ += needs[name]
        return found

    def installed_by(self, *arguments):
        """What `./dev arguments` asks apt for on a machine that has nothing; no package is installed."""
        with tempfile.TemporaryDirectory() as folder:
            told = pathlib.Path(folder) / "told"
            for name, script in {"dpkg-query": "true", "apt-get": f'echo "$@" >>{told}; [ "$1" = update ]',
                                 "sudo": 'exec "$@"', "systemctl": "true", "cmake": "false"}.items():
                program = pathlib.Path(folder) / name
                program.write_text(f"#!/bin/sh\n{script}\n")
                program.chmod(0o755)
            ended = subprocess.run([SOURCE / "dev", *arguments], capture_output=True, text=True, timeout=60, check=False,
                                   env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertNotEqual(ended.returncode, 0, "it went on without its packages")
            return set(told.read_text().split())

    def test_running_and_building_install_no_server_and_no_browser(self):
        # Somebody who only wants to try it should not wait for a browser and three databases.
        servers = {"chromium", "etcd-server", "mariadb-server", "prometheus", "redis-server"}
        for command in (["run"], ["build"], ["build", "release", "takt"], ["setup", "build"]):
            names = self.installed_by(*command)
            self.assertIn("clang-19", names)
            self.assertEqual(names & servers, set(), command)
        self.assertEqual(self.installed_by("setup") & servers, servers)
        self.assertIn(("RUN", "./dev setup build"), instructions())

    def test_the_image_has_every_library_of_the_binary(self):
        # Somebody links one more library; the image must follow, or it does not start.
        packages = self.packages()
        missing = [name for name in packages if name not in self.closure(packages)]
        self.assertEqual(missing, [], "the Dockerfile names packages that ./dev setup did not bring")
        # The base image has libc and the compiler's runtime.
        there = self.closure(packages) | {"libc6", "libgcc-s1"}
        text = output("ldd", harness.TAKT)
        self.assertNotIn("not found", text)
        libraries = re.findall(r"=> (/\S+)", text)
        owners = self.owners(libraries)
        for path in libraries:
            self.assertIn(owners[path], there,
                          f"{path} belongs to {owners[path]}: name it in the Dockerfile")

    def owners(self, paths):
        """path: package. dpkg knows files of merged /usr under either name, and is slow to ask."""
        names = {}
        for path in paths:
            for name in (path, os.path.realpath(path)):
                names[name] = names[name.replace("/usr/lib", "/lib", 1)] = path
        ended = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, timeout=60,
                               check=False)
        found = {}
        for line in ended.stdout.splitlines():
            package, _, name = line.partition(": ")
            found[names[name]] = package.split(":")[0]
        self.assertEqual(set(paths) - set(found), set(), "libraries of no package")
        return found

    def test_it_runs_as_nobody_in_particular_and_asks_for_its_health(self):
        # The defaults of an image are what most installations run with.
        lines = dict(self.runtime())
        self.assertEqual(lines["USER"], "10001:10001")
        self.assertIn("takt-healthcheck", lines["HEALTHCHECK"])
        self.assertEqual(lines["ENTRYPOINT"], '["takt"]')
        self.assertEqual([rest for name, rest in instructions() if name == "FROM"],
                         ["debian:12-slim AS build", "debian:12-slim"])

    def test_what_it_copies_is_there_and_is_not_ignored(self):
        # A file moves, and the image can no longer be built.
        kept = {line[1:].rstrip("/") for line in (SOURCE / ".dockerignore").read_text().splitlines()
                if line.startswith("!")}
        for name, rest in instructions():
            if name != "COPY" or "--from" in rest:
                continue
            for source in [word for word in rest.split() if not word.startswith("--")][:-1]:
                self.assertTrue((SOURCE / source).exists(), source)
                if source != ".":
                    self.assertTrue(any(source == one or source.startswith(one + "/") for one in kept),
                                    f"{source} is left out by .dockerignore")

    def test_the_builder_gets_every_folder_that_cmake_reads(self):
        # A new folder is added to CMakeLists.txt but not to .dockerignore.
        kept = (SOURCE / ".dockerignore").read_text().splitlines()
        for folder in ("bench", "cmake", "examples", "include", "proto", "src", "web"):
            if (SOURCE / folder).exists():
                self.assertIn("!" + folder, kept)


class Image(TaktTest):
    def health(self, url):
        return subprocess.run(["bash", str(HEALTHCHECK), url], capture_output=True, text=True,
                              timeout=30, check=False)

    def test_the_default_configuration_is_refused_until_there_is_a_token(self):
        # `docker run takt:0.1.0` on a new machine must not open a port to everybody.
        text = (DEPLOY / "container" / "takt.yaml").read_text().replace("/var/lib/takt", self.store)
        file = f"{self.folder}/takt.yaml"
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        ended = self.run_takt("serve", env={"TAKT_CONFIG": file})
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn("token create --role admin", ended.stderr)
        self.assertEqual(load(file)["server"]["listen"], "0.0.0.0:8080")

    def test_the_health_check_tells_ready_from_not_ready(self):
        # The orchestrator restarts and routes by nothing else.
        process = self.serve()
        self.assertEqual(self.health(self.url + "/readyz").returncode, 0)
        self.assertEqual(self.health(self.url + "/nowhere").returncode, 1)
        self.assertEqual(self.health("nonsense").returncode, 1)
        process.kill()
        gone = self.health(self.url + "/readyz")
        self.assertEqual(gone.returncode, 1)
        self.assertIn("takt-healthcheck", gone.stderr)

    def test_the_health_check_works_with_tls(self):
        # Somebody gives the scheduler a certificate.
        key, certificate = f"{self.folder}/key.pem", f"{self.folder}/certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=takt",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=60)
        process = self.start("serve", "serve", "--store", self.store_url, "--listen", "127.0.0.1:0",
                             "--set", f"server.tls_cert={certificate}", "--set", f"server.tls_key={key}")
        until(lambda: " listens on " in process.text(), "it listens")
        url = process.text().split(" listens on ")[1].split()[0]
        self.assertTrue(url.startswith("https://"), url)
        until(lambda: self.health(url + "/readyz").returncode == 0, "it is ready")


if __name__ == "__main__":
    unittest.main()
