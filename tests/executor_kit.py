"""Runs the commands of a scheduler kit's page against a server: executor_kit.py URL EXECUTOR_PY EXECUTOR_CPP.

The commands are the page's own, letter by letter; only hosts, ports and ids are filled in.
"""

import json
import subprocess
import sys
import time

REGISTER = r"""
curl -X POST http://localhost:8080/api/v1/executors/register \
  -H "Content-Type: application/json" \
  -d '{
    "name": "data-processor",
    "instance_id": "executor-001",
    "base_url": "http://localhost:9090",
    "health_check_url": "http://localhost:9090/health",
    "tasks": [
      {
        "task_name": "daily_report",
        "cron": "0 0 2 * * *",
        "execution_mode": "sequential",
        "load_balance_strategy": "round_robin",
        "timeout": 300
      }
    ]
  }'
"""

CREATE = r"""
curl -X POST http://localhost:8080/api/v1/tasks \
  -H "Content-Type: application/json" \
  -d '{
    "name": "hourly_sync",
    "cron_expression": "0 0 * * * *",
    "execution_mode": "parallel",
    "load_balance_strategy": "least_loaded",
    "max_retry": 3,
    "timeout_seconds": 600,
    "parameters": {
      "source": "database_a",
      "target": "database_b"
    }
  }'
"""

TRIGGER = r"""
curl -X POST http://localhost:8080/api/v1/tasks/{task_id}/trigger \
  -H "Content-Type: application/json" \
  -d '{
    "parameters": {
      "force": true
    }
  }'
"""

HISTORY = r"""
curl http://localhost:8080/api/v1/executions?task_id={task_id}\&status=success\&limit=10
"""

MAINTENANCE = r"""
curl -X PUT http://localhost:8080/api/v1/executors/{executor_id}/status \
  -H "Content-Type: application/json" \
  -d '{
    "status": "maintenance",
    "reason": "系统升级"
  }'
"""

STATUS = "curl http://localhost:8080/api/v1/scheduler/status"
EXECUTORS = "curl http://localhost:8080/api/v1/executors"

PATIENCE = 30  # Seconds; a busy machine is slow, a hanging one is noticed.


class Page:
    def __init__(self, url, executor_port):
        self.replacements = {
            "http://localhost:8080": url,
            "localhost:9090": f"localhost:{executor_port}",
        }

    def run(self, command, **ids):
        for old, new in self.replacements.items():
            command = command.replace(old, new)
        for name, value in ids.items():
            command = command.replace("{" + name + "}", value)
        done = subprocess.run(
            ["bash", "-c", command.strip().replace("curl ", "curl -sS ", 1)],
            capture_output=True, text=True, timeout=PATIENCE, check=True)
        return json.loads(done.stdout)

    def until(self, what, look):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = look()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(what + " did not happen")

    def successes(self, task_id):
        return self.run(HISTORY, task_id=task_id)["items"]


def follow(page):
    page.until("leading", lambda: page.run(STATUS).get("is_leader"))

    registered = page.run(REGISTER)
    assert registered["id"] == "executor-001", registered
    assert registered["status"] == "online", registered
    report = registered["tasks"][0]["task_id"]
    assert page.run(REGISTER)["tasks"] == registered["tasks"], "registering is idempotent"

    sync = page.run(CREATE)
    assert sync["cron_expression"] == "0 0 * * * *", sync

    # What the executor brought, by hand: called, taken, called back.
    run = page.run(TRIGGER, task_id=report)
    assert run["task_id"] == report, run
    [done] = page.until("the triggered run", lambda: page.successes(report))
    assert done["id"] == run["id"] and done["worker_id"] == "executor-001", done
    page_url = page.replacements["http://localhost:8080"]
    whole = page.run(f"curl {page_url}/api/v1/executions/" + run["id"])
    assert whole["result"]["parameters"] == {"force": True}, whole

    # A task created by hand waits until somebody can run it, and a cron fire of every second.
    waiting = page.run(TRIGGER, task_id=sync["id"])
    assert waiting["status"] == "pending", waiting
    second = REGISTER.replace("daily_report", "hourly_sync").replace("0 0 2", "* * *")
    second = second.replace("executor-001", "executor-002")
    ticking = page.run(second)["tasks"][0]["task_id"]
    page.until("the run that waited", lambda: page.successes(sync["id"]))
    fire = page.until("a cron fire", lambda: page.successes(ticking))[0]
    assert fire["worker_id"] == "executor-002", fire

    executors = page.run(EXECUTORS)["items"]
    assert [e["id"] for e in executors] == ["executor-001", "executor-002"], executors

    changed = page.run(MAINTENANCE, executor_id="executor-001")
    assert changed["status"] == "maintenance", changed
    assert changed["status_reason"] == "系统升级", changed
    held = page.run(TRIGGER, task_id=report)
    assert held["status"] == "pending", held
    back = page.run(MAINTENANCE.replace('"maintenance"', '"online"'), executor_id="executor-001")
    assert back["status"] == "online", back
    page.until("the run that was held", lambda: len(page.successes(report)) == 2)


def follow_in_cpp(page):
    """The executor in C++ registers itself and takes over while the other one is set aside."""
    def online():
        return [e for e in page.run(EXECUTORS)["items"]
                if e["id"] == "executor-cpp" and e["status"] == "online"]
    page.until("the registration of the executor in C++", online)
    page.run(MAINTENANCE, executor_id="executor-001")
    run = page.run(TRIGGER, task_id="data-processor.daily_report")
    page.until("its run", lambda: [e for e in page.successes("data-processor.daily_report")
                                   if e["id"] == run["id"] and e["worker_id"] == "executor-cpp"])


def main():
    url, executor_py, executor_cpp = sys.argv[1:]
    executor = subprocess.Popen(
        [sys.executable, executor_py, "--port", "0", "--no-register"],
        stdout=subprocess.PIPE, text=True)
    try:
        port = executor.stdout.readline().rsplit(":", 1)[1].strip()
        page = Page(url, port)
        follow(page)
        in_cpp = subprocess.Popen([executor_cpp, url, "0"], stdout=subprocess.DEVNULL)
        try:
            follow_in_cpp(page)
        finally:
            in_cpp.kill()
            in_cpp.wait()
    finally:
        executor.kill()
        executor.wait()


if __name__ == "__main__":
    main()
