#!/usr/bin/env python3
"""Runs the faults of faults.py against real processes and judges each run with checker.py.

usage: chaos.py [--store S]… [--fault F]… [--seconds N] [--list] [--result FILE]
"""
import argparse
import dataclasses
import json
import pathlib
import signal
import sys
import time
import traceback

# The cluster finds tests/e2e for what follows.
import cluster as clusters
import checker
import faults
import linear_load
import parts_faults
import space_faults  # pylint: disable=unused-import  # Adds its own to the list.
import stores

LOAD_SECONDS = 3.0  # The load goes on for this long after the canary has come home.


@dataclasses.dataclass
class Outcome:
    store: str
    fault: str
    seconds: float
    violations: list
    failover: float | None = None
    canary: float | None = None
    accepted: int = 0
    runs: int = 0
    losses: int = 0
    operations: int = 0  # Of clients, for which an order was found.
    lost: int = 0  # Acknowledged, and lost with a store that may.
    kept: str = ""


def say(text):
    print(text, flush=True)


def judge(cluster, fault, seconds):
    """Lets the fault happen and checks what came of it."""
    say("  starting …")
    fault.begin(cluster)
    say(f"  {fault.about} …")
    fault.harm(cluster)
    healed, healed_wall = time.monotonic(), time.time()
    canaries = {space: cluster.canary(healed, space) for space in cluster.spaces}
    for space, canary in canaries.items():
        say(f"  healed; canary of {space} " + (f"after {canary:.1f} s" if canary else "is dead"))
    time.sleep(seconds)
    violations = cluster.settle()
    violations += parts_faults.violations(cluster, fault.rules)
    histories = [cluster.history(space, healed_wall, canaries[space]) for space in cluster.spaces]
    histories[0].ended_badly = cluster.ended_badly()
    operations = sum(len(part.executions) + len(part.locks) for part in cluster.parts
                     if isinstance(part, linear_load.LinearLoad))
    lost = 0
    for space, history in zip(cluster.spaces, histories):
        if fault.rules.lossy:
            lost += sum(one.outcome == "ok" and one.id not in history.rows
                        for one in history.submitted)
            say(f"  {lost} acknowledged tasks were lost with the store's memory, as may be")
        violations += [f"{space}: {one}" for one in checker.check(history, fault.rules)]
    return histories, violations, (operations, lost)


def run(store, fault, seconds):
    say(f"{store} · {fault.name}")
    began = time.monotonic()
    outcome = Outcome(store, fault.name, 0.0, [])
    cluster = clusters.Cluster(fault.store_kind or stores.STORES[store])
    try:
        histories, outcome.violations, (outcome.operations, outcome.lost) = judge(
            cluster, fault, seconds)
        outcome.canary = max((one.canary_seconds or 0 for one in histories))
        outcome.failover = cluster.failover_seconds()
        submitted = [one for history in histories for one in history.submitted]
        rows = [row for history in histories for row in history.rows.values()]
        outcome.accepted = sum(1 for one in submitted if one.outcome == "ok")
        outcome.runs = sum(len(history.runs) for history in histories)
        outcome.losses = sum(row["losses"] for row in rows)
        with open(f"{cluster.folder}/rows.json", "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
        with open(f"{cluster.folder}/submitted.json", "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(one) for one in submitted], file, indent=1)
    except Exception as error:  # pylint: disable=broad-except  # One failed run ends no others.
        outcome.violations.append(f"run: {error!r}")
        traceback.print_exc()
    finally:
        keep = bool(outcome.violations)
        cluster.close(keep)
        if keep:
            outcome.kept = cluster.folder
    outcome.seconds = time.monotonic() - began
    for violation in outcome.violations[:20]:
        say(f"  VIOLATION {violation}")
    if len(outcome.violations) > 20:
        say(f"  … {len(outcome.violations)} violations in all")
    if outcome.kept:
        say(f"  logs, ledger and rows are kept in {outcome.kept}")
    return outcome


def show(outcomes):
    def shown(value):
        return "" if value is None else f"{value:.2f}"

    table = [["store", "fault", "result", "took s", "accepted", "runs", "losses", "operations",
              "canary s", "failover s"]]
    for one in outcomes:
        result = f"{len(one.violations)} violations" if one.violations else "ok"
        table.append([one.store, one.fault, result, f"{one.seconds:.0f}", str(one.accepted),
                      str(one.runs), str(one.losses), str(one.operations),
                      shown(one.canary), shown(one.failover)])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    bad = [one for one in outcomes if one.violations]
    say(f"{len(outcomes) - len(bad)} of {len(outcomes)} runs without a violation; terms of "
        f"{clusters.TERM_SECONDS:.0f} s")
    for one in bad:
        say(f"  {one.store} {one.fault}: {one.kept}")


def keep(outcomes, path):
    """Adds the outcomes to those of earlier runs of the same build."""
    file = pathlib.Path(path)
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    now = [dataclasses.asdict(one) for one in outcomes]
    file.write_text(json.dumps(before + now, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description="Does harm to real processes and checks.")
    parser.add_argument("--store", action="append", choices=list(stores.STORES), default=[])
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=LOAD_SECONDS,
                        help=f"load after each canary [{LOAD_SECONDS:.0f}]")
    parser.add_argument("--list", action="store_true", help="show all faults and end")
    parser.add_argument("--result", help="add the outcomes to this file, as JSON")
    options = parser.parse_args()
    if options.list:
        for fault in faults.FAULTS:
            say(f"{fault.name:32} {fault.about} ({', '.join(fault.stores)})")
        return 0
    # A time-out of whoever runs this ends it like Ctrl-C: with everything cleaned up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [(store, fault) for store in options.store or stores.STORES
              for fault in faults.named(options.fault) if store in fault.stores
              and (options.fault or fault.name != "slice")]
    if not chosen:
        raise SystemExit("chaos: none of these faults is for these stores; --list shows which are")
    outcomes = []
    try:
        for number, (store, fault) in enumerate(chosen, 1):
            print(f"[{number}/{len(chosen)}] ", end="")
            outcomes.append(run(store, fault, options.seconds))
    except KeyboardInterrupt:
        say("\nchaos: interrupted")
        return 130
    finally:
        if outcomes:
            show(outcomes)
            if options.result:
                keep(outcomes, options.result)
    return 1 if any(one.violations for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
