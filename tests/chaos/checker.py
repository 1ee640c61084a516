"""Judges a run by what clients were told, what workers did, and what the store has at the end.

Pure: a History in, violations out; checker_test.py shows that each rule catches what it is for.
"""
import collections
import dataclasses
import datetime

FINAL = ("success", "failed", "cancelled", "skipped")
# Clocks of one machine agree; what remains is rounding to milliseconds.
EARLY_SECONDS = 0.005
CANARY_SECONDS = 15.0


@dataclasses.dataclass
class Rules:
    """What a fault may explain; all else is a violation."""
    losses: bool = False  # Workers are lost, so attempts may be repeated.
    lossy: bool = False  # The store itself may forget what it acknowledged (Redis failover).
    clocks_agree: bool = True  # Whether times of different schedulers can be compared.


@dataclasses.dataclass
class Run:
    """One run of a handler, from the ledger of its worker."""
    execution: str
    attempt: int
    epoch: int
    worker: str
    run: str
    task: str = ""
    locks: dict = dataclasses.field(default_factory=dict)  # Tokens by name.
    started: float = 0.0  # Monotonic.
    started_wall: float | None = None
    ended: float | None = None
    success: bool | None = None
    accepted: bool | None = None  # What the scheduler answered to its result.
    accepted_at: float = 0.0


@dataclasses.dataclass
class Election:
    at: str  # The node's own time.
    node: str
    epoch: int
    space: str = "default"


@dataclasses.dataclass
class Welcome:
    at: float
    worker: str
    node: str
    epoch: int


@dataclasses.dataclass
class History:
    submitted: list = dataclasses.field(default_factory=list)  # load.Submitted
    runs: list = dataclasses.field(default_factory=list)
    welcomes: list = dataclasses.field(default_factory=list)
    elections: list = dataclasses.field(default_factory=list)
    rows: dict = dataclasses.field(default_factory=dict)  # execution id -> row as REST shows it
    cron: list = dataclasses.field(default_factory=list)  # tasks that fire each second
    sequential: list = dataclasses.field(default_factory=list)  # tasks that must not overlap
    healed_wall: float = 0.0
    ended_wall: float = 0.0
    forgotten_at: float = 0.0  # Monotonic: when a lossy store had lost what it was to lose.
    canary_seconds: float | None = None  # From the heal; None if it did not finish.
    ended_badly: list = dataclasses.field(default_factory=list)  # processes, in words
    lead_lost_wall: float = 0.0  # When its leader went; 0: it did not.
    lead_lost_epoch: int = 0
    lead_seconds_max: float = 0.0


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def is_open(row, now):
    """Whether an execution should have ended by now: not if its time has not even come."""
    if row["status"] not in ("pending", "retrying"):
        return row["status"] not in FINAL
    return max(seconds_of(row["scheduled_at"]), seconds_of(row["ready_at"])) <= now


def runs_from(lines):
    """Runs out of a ledger's lines."""
    runs = {}
    for line in lines:
        if line["what"] == "start":
            runs[line["run"]] = Run(
                execution=line["execution"], attempt=line["attempt"], epoch=int(line["epoch"]),
                worker=line["worker"], run=line["run"], task=line.get("task", line["execution"]),
                locks=line.get("locks", {}),
                started=line["monotonic"], started_wall=line.get("wall"))
        elif line["what"] == "end" and line["run"] in runs:
            runs[line["run"]].ended = line["monotonic"]
            runs[line["run"]].success = line["success"]
        elif line["what"] == "ack" and line["run"] in runs:
            runs[line["run"]].accepted = line["accepted"]
            runs[line["run"]].accepted_at = line["monotonic"]
    return list(runs.values())


def check(history, rules):
    """All violations, as sentences that begin with the rule's name."""
    by_execution = collections.defaultdict(list)
    for run in history.runs:
        by_execution[run.execution].append(run)
    found = []
    found += check_canary(history)
    found += check_submits(history, rules)
    found += check_cancels(history, by_execution, rules)
    found += check_completions(history, by_execution, rules)
    found += check_repeats(history, by_execution, rules)
    found += check_cron(history, rules)
    found += check_sequential(history)
    found += check_epochs(history, by_execution, rules)
    found += check_times(history, rules)
    found += check_lead(history)
    return found + [f"process: {text}" for text in history.ended_badly]


def check_canary(history):
    if history.canary_seconds is None or history.canary_seconds > CANARY_SECONDS:
        took = "never" if history.canary_seconds is None else f"{history.canary_seconds:.1f} s"
        return [f"canary: a task after the heal finished after {took}, at most "
                f"{CANARY_SECONDS:.0f} s are allowed"]
    return []


def check_submits(history, rules):
    """Nothing accepted is lost, nothing refused exists, nothing is left unfinished."""
    for one in history.submitted:
        row = history.rows.get(one.id)
        if one.unexpected:
            yield f"answer: {one.id}: {one.unexpected}"
        if one.missing_at and not rules.lossy:
            yield f"read: {one.id} was acknowledged, then not found at {one.missing_at}"
        if row is None:
            if one.outcome == "ok" and not rules.lossy:
                yield f"lost: {one.id} was acknowledged and does not exist"
            continue
        if one.outcome == "refused":
            yield f"refused: {one.id} was never taken and exists as {row['status']}"
        if one.kind != "cancelled" and row["status"] in FINAL and row["status"] != "success":
            yield f"failed: {one.id} ended as {row['status']}: {row.get('error')}"
    for row in history.rows.values():
        if is_open(row, history.ended_wall):
            yield f"unfinished: {row['id']} is {row['status']}, attempt {row['attempt']}"


def check_cancels(history, by_execution, rules):
    for one in history.submitted:
        row = history.rows.get(one.id)
        if not one.cancel_acknowledged_at or row is None:
            continue
        if row["status"] != "cancelled" and not rules.lossy:
            yield f"cancel: {one.id} was cancelled and is {row['status']}"
        for run in by_execution[one.id]:
            if run.started > one.cancel_acknowledged_at and not rules.lossy:
                yield f"cancel: {one.id} was cancelled and started later by {run.worker}"


def check_completions(history, by_execution, rules):
    """At most one completion is accepted, and it is the one that the store has."""
    for execution, runs in by_execution.items():
        row = history.rows.get(execution)
        # What a failover forgot is run again and completes again; since then, once.
        completed = [run for run in runs if run.accepted and run.success
                     and run.accepted_at >= history.forgotten_at]
        if len(completed) > 1:
            yield (f"completed twice: {execution} by "
                   f"{', '.join(f'{run.run} (attempt {run.attempt})' for run in completed)}")
        for run in completed:
            if rules.lossy:
                continue
            if row is None:
                yield f"completion lost: {execution} by {run.run} was accepted; no such execution"
            elif row["status"] != "success" or row["attempt"] != run.attempt:
                yield (f"completion lost: {execution}: attempt {run.attempt} was accepted, the "
                       f"store has {row['status']} of attempt {row['attempt']}")
            for other in runs:
                if other.attempt > run.attempt:
                    yield (f"run after completion: {execution}: attempt {other.attempt} ran, "
                           f"attempt {run.attempt} had been accepted")
        if row and row["status"] == "success":
            ended = [run for run in runs if run.attempt == row["attempt"] and run.success]
            if not ended:
                yield f"result of nobody: {execution} attempt {row['attempt']} ran nowhere"
            result = (row.get("result") or {}).get("run")
            if result and all(run.run != result for run in ended):
                yield f"result of nobody: {execution} has the result of {result}"
    for row in history.rows.values():
        if row["status"] == "success" and not by_execution.get(row["id"]):
            yield f"result of nobody: {row['id']} succeeded and ran nowhere"


def check_repeats(history, by_execution, rules):
    """A run beyond the first needs a failure or a loss that explains it."""
    for execution, runs in by_execution.items():
        row = history.rows.get(execution)
        attempts = collections.Counter(run.attempt for run in runs)
        if not rules.lossy:
            for attempt, count in attempts.items():
                if count > 1:
                    yield f"attempt twice: {execution} attempt {attempt} ran {count} times"
        if row is None:
            continue
        allowed = 1 + row["failures"] + row["losses"]
        if len(runs) > allowed and not rules.lossy:
            yield (f"unexplained run: {execution} ran {len(runs)} times with {row['failures']} "
                   f"failures and {row['losses']} losses")
        if row["losses"] and not rules.losses:
            yield f"unexplained loss: {execution} lost {row['losses']} workers, none was lost"


def missed_of(row):
    """How many due times a skipped record stands for."""
    words = ((row.get("error") or {}).get("message") or "").split()
    return int(words[0]) if words and words[0].isdigit() else 1


def check_cron(history, rules):
    """Each second has one record: a run, or its share in one of missed times."""
    for task in history.cron:
        rows = [row for row in history.rows.values() if row.get("task_id") == task]
        if not rows:
            yield f"cron: {task} never fired"
            continue
        due = collections.Counter()
        for row in rows:
            first = round(seconds_of(row["scheduled_at"]))
            for second in range(missed_of(row) if row["status"] == "skipped" else 1):
                due[first + second] += 1
        for second, count in sorted(due.items()):
            if count > 1:
                yield f"cron twice: {task} has {count} records for {second}"
        gaps = [second for second in range(min(due), max(due)) if second not in due]
        if gaps:
            yield f"cron gap: {task} has no record for {gaps[:10]} ({len(gaps)} in all)"
        if rules.clocks_agree and max(due) < history.healed_wall:
            yield f"cron stopped: {task} has not fired since the heal"


def check_sequential(history):
    """Runs whose attempt counted, of different executions of one task, do not overlap."""
    for task in history.sequential:
        counted = []
        for run in history.runs:
            row = history.rows.get(run.execution)
            if run.task == task and run.ended and row and row["attempt"] == run.attempt:
                counted.append(run)
        counted.sort(key=lambda run: run.started)
        for before, after in zip(counted, counted[1:]):
            if after.started < before.ended and after.execution != before.execution:
                yield (f"overlap: {task}: {after.execution} started "
                       f"{before.ended - after.started:.3f} s before {before.execution} ended")


def check_epochs(history, by_execution, rules):
    owners = {}
    for election in history.elections:
        if election.epoch in owners and not rules.lossy:
            yield (f"epoch twice: {election.epoch} was given to {owners[election.epoch]} and "
                   f"{election.node}")
        owners[election.epoch] = election.node
    if rules.clocks_agree:
        ordered = sorted(history.elections, key=lambda election: election.at)
        for before, after in zip(ordered, ordered[1:]):
            if after.epoch < before.epoch:
                yield f"epoch fell: {after.epoch} at {after.at} came after {before.epoch}"
    seen = {}
    for welcome in sorted(history.welcomes, key=lambda welcome: welcome.at):
        if welcome.epoch < seen.get(welcome.worker, 0):
            yield f"epoch fell: {welcome.worker} was welcomed by {welcome.epoch} after a higher one"
        seen[welcome.worker] = welcome.epoch
        if owners.get(welcome.epoch, welcome.node) != welcome.node and not rules.lossy:
            yield f"epoch twice: {welcome.epoch} is {welcome.node}'s and {owners[welcome.epoch]}'s"
    for execution, runs in by_execution.items():
        if rules.lossy:
            continue
        runs = sorted(runs, key=lambda run: run.attempt)
        for before, after in zip(runs, runs[1:]):
            if after.epoch < before.epoch:
                yield (f"epoch fell: {execution}: attempt {after.attempt} of epoch {after.epoch} "
                       f"follows one of {before.epoch}")


def check_times(history, rules):
    """Nothing starts before its time."""
    if not rules.clocks_agree:
        return
    for run in history.runs:
        row = history.rows.get(run.execution)
        if row is None or run.started_wall is None:
            continue
        early = seconds_of(row["scheduled_at"]) - run.started_wall
        if early > EARLY_SECONDS:
            yield f"early: {run.execution} started {early:.3f} s before its time"


def check_lead(history):
    """Where the leader went, somebody else leads in time."""
    if not history.lead_lost_wall:
        return
    later = [seconds_of(one.at) for one in history.elections if one.epoch > history.lead_lost_epoch]
    took = min(later) - history.lead_lost_wall if later else None
    if took is None or took > history.lead_seconds_max:
        when = "never" if took is None else f"after {took:.2f} s"
        yield f"lead: led again {when}, at most {history.lead_seconds_max:.0f} s are allowed"
