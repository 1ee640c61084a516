"""What the tests of the installed SDK share."""
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ["TAKT_BUILD"])


def run(*command, **options):
    """What a command that must succeed prints."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=280, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
