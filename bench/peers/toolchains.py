"""What the drivers in Go and Java are built with, into build/peers/. Both are optional: where a tool or
a registry is missing, their queues are skipped with a sentence, and nothing else needs them."""

import functools
import os
import pathlib
import shutil
import subprocess

from processes import Failure

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[1] / "build/peers"
NATS_SERVER = BUILT / "nats-server"
COPY_LIBRARIES = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
BUILD_SECONDS = 1800  # nats-server and what it needs take minutes on a busy machine.


class Missing(Exception):
    """A tool or a registry that is not here; the text is the sentence that says so."""


def _need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Missing(f"there is no {tool} here")


def _run(command, folder):
    """What a tool complains about, and nothing if it succeeds."""
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False, timeout=BUILD_SECONDS,
    )  # fmt: skip
    if done.returncode == 0:
        return ""
    said = " ".join((done.stdout + " " + done.stderr).split())  # Maven complains on standard output.
    return said[:600] or f"{command[0]} ended with {done.returncode}"


def _fetch(what, command, folder):
    if complaint := _run(command, folder):
        raise Missing(f"{what} could not be fetched ({complaint})")


def _build(command, folder):
    if complaint := _run(command, folder):
        raise Failure(f"{' '.join(map(str, command[:2]))}: {complaint}")


def _newest(paths):
    return max(path.stat().st_mtime for path in paths)


def once(build):
    """Also a build that fails is not tried again: a registry that does not answer takes its time."""
    outcome = []

    @functools.wraps(build)
    def wrapper():
        if not outcome:
            try:
                outcome.append((build(), None))
            except (Missing, Failure) as error:
                outcome.append((None, error))
        result, error = outcome[0]
        if error:
            raise error
        return result

    return wrapper


def build_go():
    """The program that hosts the drivers in Go; nats-server beside it."""
    _need("go")
    source = HERE / "go"
    BUILT.mkdir(parents=True, exist_ok=True)
    _fetch("the Go modules", ["go", "mod", "download"], source)
    # Go knows by itself what has changed.
    host = BUILT / "go-host"
    _build(["go", "build", "-o", host, "."], source)
    _build(["go", "build", "-o", NATS_SERVER, "github.com/nats-io/nats-server/v2"], source)
    return host


def build_java():
    """The class path of the drivers in Java."""
    _need("java", "javac", "mvn")
    source, libraries, classes = HERE / "java", BUILT / "java/lib", BUILT / "java/classes"
    fetched, compiled = BUILT / "java/.fetched", BUILT / "java/.compiled"
    classes.mkdir(parents=True, exist_ok=True)
    if not fetched.exists() or fetched.stat().st_mtime < _newest([source / "pom.xml"]):
        shutil.rmtree(libraries, ignore_errors=True)  # No version beside the one that is wanted.
        command = ["mvn", "-q", "-B", COPY_LIBRARIES]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={libraries}"]
        _fetch("the Java libraries", command, source)
        fetched.touch()
    sources = sorted(source.glob("*.java"))
    if not compiled.exists() or compiled.stat().st_mtime < _newest([fetched, *sources]):
        command = ["javac", "-Xlint:all", "-Werror", "-cp", f"{libraries}/*", "-d", classes]
        _build([*command, *sources], source)
        compiled.touch()
    return os.pathsep.join([str(classes), *map(str, sorted(libraries.glob("*.jar")))])


go_host, java_host = once(build_go), once(build_java)


def node(driver):
    return ["node", HERE / "host.mjs", driver]


def go(driver):
    return [go_host(), driver]


def java(driver):
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return ["java", quiet, "-cp", java_host(), "Host", driver]
