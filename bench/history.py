"""A long history behind a store: how it comes there, and how long questions take over it."""

import datetime
import pathlib
import statistics
import subprocess
import time
import urllib.request

from processes import Failure
from run import say

# What an index answers, so that it takes as long whatever there is; history_fill names the tasks.
QUESTIONS = {
    "newest": "executions?limit=50",
    "failed": "executions?limit=50&status=failed",
    "succeeded": "executions?limit=50&status=success",
    "of a task": "executions?limit=50&task_id=report-7",
    "failed of a task": "executions?limit=50&task_id=report-7&status=failed",
    "of an hour": "executions?limit=50&{hour}",
    "one by its id": "executions/{id}",
    "statistics": "statistics?by=task",
}
QUESTION_CALLS = 40


def question_milliseconds(url, execution):
    """The 99th percentile of each question, as the console asks them."""
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=3)
    hour = "&".join(
        f"{name}={(before + datetime.timedelta(hours=n)).strftime('%Y-%m-%dT%H:%M:%SZ')}"
        for name, n in (("from", 0), ("to", 1))
    )
    p99 = {}
    for name, question in QUESTIONS.items():
        if "{id}" in question and not execution:
            continue
        path = question.format(hour=hour, id=execution)
        took = []
        for _ in range(QUESTION_CALLS):
            begin = time.monotonic()
            with urllib.request.urlopen(f"{url}/api/v1/{path}", timeout=60) as answer:
                answer.read()
            took.append(1000 * (time.monotonic() - begin))
        p99[name] = statistics.quantiles(took, n=100)[98]
    return p99


def fill(setup, store_url, count):
    """So many finished executions, before anybody leads. The id of one of them."""
    program = pathlib.Path(setup.takt).parent / "bench" / "history_fill"
    begin = time.monotonic()
    done = subprocess.run([program, store_url, str(count)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"history_fill: {done.stderr.strip()}")
    say(f"{count:,} executions put there in {time.monotonic() - begin:.0f} s")
    return done.stdout.strip()
