"""Judges runs of workflows, and locks, by what clients were told and what workers did.

Pure, as checker.py is; parts_checker_test.py shows that each rule catches what it is for.
"""
import collections

import parts_load

SENT_SECONDS = 5  # An order reaches its worker within this, on a machine that is busy.


def child_id(run, step, shard):
    return f"{run}~{step}.{shard}"


def check_flows(runs, rows, ledger, rules):
    """`runs` are parts_load.FlowRun, `rows` those of runs and their children by id, `ledger` the runs of
    handlers (checker.Run)."""
    by_execution = collections.defaultdict(list)
    for one in ledger:
        by_execution[one.execution].append(one)
    children = collections.defaultdict(set)
    for row in rows.values():
        if row.get("parent_id"):
            children[row["parent_id"]].add(row["id"])
    for one in runs:
        if one.unexpected:
            yield f"answer: {one.id}: {one.unexpected}"
        row = rows.get(one.id)
        if row is None:
            if one.outcome == "ok":
                yield f"run lost: {one.id} was acknowledged and does not exist"
            continue
        if one.outcome == "refused":
            yield f"run refused: {one.id} was never taken and exists"
        yield from check_end(one, row, children[one.id], rows)
        yield from check_cancelled(one, row, children[one.id], by_execution)
        yield from check_order(one, by_execution)
        yield from check_values(one, rows)
    if not rules.losses:
        yield from check_run_locks([one for one in runs if one.locked], by_execution)
        yield from check_step_lock(ledger)


def check_end(one, row, children, rows):
    """A run ends exactly when nothing of it is left, and each part of one that succeeded is there once."""
    if row["status"] not in ("success", "cancelled"):
        yield f"run failed: {one.id} is {row['status']}: {row.get('error')}"
    for child in children:
        if rows[child]["status"] in ("pending", "scheduled", "running", "retrying"):
            yield f"run left something: {child} of {one.id}, which is {row['status']}"
    if row["status"] != "success":
        return
    expected = {child_id(one.id, step, shard) for step in range(parts_load.STEPS)
                for shard in range(parts_load.SHARDS)}
    if children != expected:
        missing, more = sorted(expected - children), sorted(children - expected)
        yield f"parts: {one.id} lacks {missing[:5]} and has {more[:5]} too many"
    failed = [child for child in children if rows[child]["status"] != "success"]
    if failed:
        yield f"parts: {one.id} succeeded, and {failed[:5]} did not"


def check_cancelled(one, row, children, by_execution):
    if not one.cancelled_at:
        return
    if row["status"] != "cancelled":
        yield f"run cancel: {one.id} was cancelled and is {row['status']}"
    for child in children:
        for run in by_execution[child]:
            later = run.started - one.cancelled_at
            # What was given to a worker before it is on its way, and comes to nothing.
            if later > 0 and run.accepted:
                yield f"run cancel: {child} started {later:.1f} s later, and was accepted"
            if later > SENT_SECONDS:
                yield f"run cancel: {child} started {later:.1f} s later"


def of_step(one, step, by_execution):
    return [run for shard in range(parts_load.SHARDS)
            for run in by_execution.get(child_id(one.id, step, shard), [])]


def check_order(one, by_execution):
    """A step begins after what it waits for has ended."""
    for step in range(1, parts_load.STEPS):
        begun = [run.started for run in of_step(one, step, by_execution)]
        if not begun:
            continue
        before = [run for run in of_step(one, step - 1, by_execution) if run.success]
        ended = {run.execution for run in before if run.ended and run.ended <= min(begun)}
        if len(ended) < parts_load.SHARDS:
            yield (f"order: s{step} of {one.id} began when {len(ended)} of {parts_load.SHARDS} "
                   f"before it had ended")


def check_values(one, rows):
    """What a step is given is what the one before it answered, in the order of shards."""
    for step in range(1, parts_load.STEPS):
        results = [(rows.get(child_id(one.id, step - 1, shard)) or {}).get("result")
                   for shard in range(parts_load.SHARDS)]
        for shard in range(parts_load.SHARDS):
            row = rows.get(child_id(one.id, step, shard))
            if row and (row.get("parameters") or {}).get("before") != results:
                yield f"values: {row['id']} was not given the results of s{step - 1}"


def held_to_its_end(run):
    """Whoever is cancelled or times out loses its locks at once, and only its token tells that its
    handler is late: docs/locks.md."""
    return run.ended and run.accepted


def check_run_locks(runs, by_execution):
    """Runs that hold one lock follow each other, with tokens that rise."""
    spans = []
    for one in runs:
        parts = [run for step in range(parts_load.STEPS) for run in of_step(one, step, by_execution)]
        if not parts:
            continue
        tokens = {run.locks.get(parts_load.RUN_LOCK) for run in parts}
        if len(tokens) != 1 or None in tokens:
            yield f"run lock: parts of {one.id} have the tokens {tokens}"
            continue
        kept = [run for run in parts if held_to_its_end(run)]
        if kept:
            spans.append((min(run.started for run in kept), max(run.ended for run in kept),
                          tokens.pop(), one.id))
    spans.sort()
    for (_, ended, token, run), (began, _, next_token, following) in zip(spans, spans[1:]):
        if began < ended:
            yield f"run lock: {following} began {ended - began:.3f} s before {run} had ended"
        if next_token <= token:
            yield f"token: {following} has {next_token}, {run} before it had {token}"


def check_step_lock(ledger):
    """Executions that declare one lock do not overlap."""
    held = sorted((run.started, run.ended, run.locks[parts_load.STEP_LOCK], run.execution)
                  for run in ledger if parts_load.STEP_LOCK in run.locks and held_to_its_end(run))
    for (_, ended, token, one), (began, _, next_token, following) in zip(held, held[1:]):
        if began < ended:
            yield f"step lock: {following} began {ended - began:.3f} s before {one} had ended"
        if next_token <= token:
            yield f"token: {following} has {next_token}, {one} before it had {token}"


def check_locks(holds, sizes):
    """`holds` are parts_load.Hold, `sizes` the permits of each lock."""
    for hold in holds:
        if hold.unexpected:
            yield f"lock answer: {hold.lock}: {hold.unexpected}"
        elif not hold.told:
            yield f"waiter: client {hold.client} was neither given {hold.lock} nor told that it was not"
    held = [hold for hold in holds if hold.told == "held"]
    for name, permits in sizes.items():
        yield from check_holders(name, permits, [hold for hold in held if hold.lock == name])
    yield from check_tokens(held)


def check_holders(name, permits, holds):
    """At no time do more clients take themselves for holders than there are permits."""
    if not holds:
        yield f"waiter: nobody ever got {name}"
    moments = []
    for hold in holds:
        if hold.valid_until > hold.got_at:
            moments += [(hold.got_at, 1, hold), (hold.valid_until, -1, hold)]
    count = 0
    for at, change, hold in sorted(moments, key=lambda moment: moment[:2]):
        count += change
        if count > permits:
            yield f"holders: {name} had {count} valid holders at {at:.3f}, client {hold.client} one"


def check_tokens(held):
    """Who asks after another was told a token is given a higher one; none is given twice."""
    owners = {}
    for hold in held:
        owner = owners.setdefault(hold.token, hold.lock_id)
        if owner != hold.lock_id:
            yield f"token: {hold.token} was given to {owner} and to {hold.lock_id}"
    told = sorted(held, key=lambda hold: hold.got_at)
    highest, next_told = 0, 0
    for hold in sorted(held, key=lambda hold: hold.asked_at):
        while next_told < len(told) and told[next_told].got_at < hold.asked_at:
            highest = max(highest, told[next_told].token)
            next_told += 1
        if hold.token <= highest:
            yield f"token: client {hold.client} asked after {highest} was known and got {hold.token}"
