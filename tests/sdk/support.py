"""What the tests of the installed SDK share."""
import os
import pathlib
import re
import subprocess

BUILD = pathlib.Path(os.environ["TAKT_BUILD"])
SANITIZED = re.search(r"^TAKT_SANITIZE:STRING=.+$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
UNLINKABLE = "a sanitized library needs a program that is sanitized by the same compiler"


def run(*command, **options):
    """What a command that must succeed prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=280, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
