#!/usr/bin/env python3
"""Makes docs/report.md from what sim, mutants, chaos and soak left in this folder with --result.

usage: report.py [--results FOLDER] [--out FILE]
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORES = ["embedded", "redis", "etcd", "mysql"]


def said_by(*command):
    """The first line that a program prints, or that it is not there."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=30)
        return (ended.stdout or ended.stderr).strip().splitlines()[0]
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "not there"


def number_in(text):
    found = re.search(r"\d+\.\d+(\.\d+)?", text)
    return found[0] if found else text


def read(folder, name):
    file = folder / name
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines() if line]
    return json.loads(text)


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)] if values else None


def grouped(number):
    return f"{number:,}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


# --- Sections -------------------------------------------------------------------------------------


def in_short(sim, mutants, chaos, soak):
    seeds = sum(one["seeds"] for one in sim)
    failed = sum(len(one["failed"]) for one in sim)
    bad = sum(bool(one["violations"]) for one in chaos)
    grown = sum(bool(one["violations"]) for one in soak)
    return table(["question", "tried", "held", "did not"], [
        ["Does the core keep its promises whatever fails, in a simulated world?", f"{grouped(seeds)} seeds",
         grouped(seeds - failed), grouped(failed)],
        ["Would the checks notice if it did not?", f"{len(mutants)} mutants",
         sum(one["caught"] for one in mutants), sum(not one["caught"] for one in mutants)],
        ["Do real processes on real stores keep them?", f"{len(chaos)} runs", len(chaos) - bad, bad],
        ["Does anything grow with time?", f"{sum(one['seconds'] for one in soak) / 60:.0f} minutes on "
         f"{len(soak)} stores", len(soak) - grown, grown],
    ])


def simulator(sim):
    kinds = collections.OrderedDict()
    for one in sim:
        words = []
        if one["quiet"]:
            words.append("nothing fails")
        if one["drill"] != "none":
            words.append(f"drill {one['drill']}")
        if not words:
            words.append("everything fails at random")
        if one["namespaces"] > 1:
            words.append(f"{one['namespaces']} namespaces")
        if one.get("executors"):
            words.append("HTTP executors")
        if one.get("forgetful"):
            words.append("failovers of the store lose what it had acknowledged")
        if one["changes"]:
            words.append(f"steps of {one['changes']} change")
        kind = (", ".join(words), one["steps"])
        sums = kinds.setdefault(kind, collections.Counter())
        for key in ("seeds", "executions", "runs", "commits", "losses", "due_times", "faults"):
            sums[key] += one[key]
        sums["failed"] += len(one["failed"])
    # A drill has faults of its own.
    rows = [[what, steps, *(grouped(sums[key]) if sums[key] or key != "faults" else "–" for key in
                            ("seeds", "faults", "executions", "runs", "losses", "due_times", "failed"))]
            for (what, steps), sums in kinds.items()]
    text = table(["what", "steps", "seeds", "faults", "submitted", "runs", "workers lost", "due times",
                  "seeds that failed"], rows)
    failed = sorted({seed for one in sim for seed in one["failed"]})
    if failed:
        text += f"\n\nSeeds that failed: {', '.join(map(str, failed))}."
    return text


def mutant_list(mutants):
    rows = [[f"`{one['name']}`", one["broken"], one["by"] if one["caught"] else "**nobody**", one["where"],
             f"{one['seconds']:.1f}"] for one in mutants]
    return table(["mutant", "what it breaks", "noticed by", "where", "s"], rows)


def chaos_matrix(chaos):
    runs = collections.defaultdict(list)
    for one in chaos:
        runs[one["fault"], one["store"]].append(one)
    faults = sorted({one["fault"] for one in chaos})

    def cell(found):
        bad = sum(bool(one["violations"]) for one in found)
        if not found:
            return ""
        return f"{len(found)} held" if not bad else f"{len(found) - bad} held, **{bad} not**"

    text = table(["fault", *STORES], [[f"`{fault}`", *(cell(runs[fault, store]) for store in STORES)]
                                      for fault in faults])
    bad = [f"- `{one['fault']}` on {one['store']}: {one['violations'][0]}" for one in chaos
           if one["violations"]]
    # One that begins with "run:" did not come to its fault, or not to its end: it shows nothing either way.
    return text + ("\n\nNot held, or not carried out (`run:`):\n\n" + "\n".join(bad) if bad else "")


def chaos_numbers(chaos):
    rows = []
    for store in STORES:
        own = [one for one in chaos if one["store"] == store]
        failovers = [one["failover"] for one in own if one["failover"] is not None]
        canaries = [one["canary"] for one in own if one["canary"]]

        def shown(values):
            if not values:
                return "–"
            return " / ".join(f"{value:.1f}" for value in
                              (percentile(values, 0.5), percentile(values, 0.9), max(values)))

        rows.append([store, len(own), grouped(sum(one["accepted"] for one in own)),
                     grouped(sum(one["operations"] for one in own)), sum(one["lost"] for one in own),
                     f"{shown(failovers)} ({len(failovers)})", shown(canaries)])
    return table(["store", "runs", "tasks acknowledged", "client operations put in order",
                  "acknowledged and lost", "failover s: median / 90 % / most (of)",
                  "canary s: median / 90 % / most"], rows)


def soak_table(soak):
    measures = [("memory_mb", "memory MB"), ("descriptors", "descriptors"), ("threads", "threads"),
                ("store_mb", "store MB"), ("late_ms", "late ms, 99 %")]
    rows = []
    for one in soak:
        result = f"**{len(one['violations'])} violations**" if one["violations"] else "flat"
        rows.append([one["store"], result, f"{one['seconds'] / 60:.1f}", one["faults"],
                     *(f"{one[key]['middle']:g} → {one[key]['last']:g}" for key, _ in measures)])
    text = table(["store", "result", "minutes", "faults", *(name for _, name in measures)], rows)
    plots = [f"[{name}](../tests/results/{file.name})" for key, name in measures
             for file in [HERE / f"soak-{key.replace('_', '-')}.svg"] if file.exists()]
    return text + (f"\n\nPlots: {', '.join(plots)}." if plots else "")


PAGE = """# Report: what was tried, and what came of it

Made by `./dev report` from the files in [tests/results](../tests/results); nothing here is written by hand except the sentences around the
numbers. Made at commit `{commit}`, {date}. It is for somebody who has to decide whether to trust Takt with something that matters, payments
say: what was tried, how often it held, what it would have taken to notice a mistake, and what nobody has tried.

## In short

{short}

What is promised in the first place: [guarantees.md](guarantees.md).

## The core, in a simulated world

Whole clusters from one seed: schedulers, store, network, workers and clients fail at random, then everything heals and must come to its end.
What must hold and what can fail: [simulator.md](simulator.md).

{simulator}

## Would a mistake be noticed?

Each mutant is Takt with one thing broken on purpose. It counts as noticed only if a check fails for the reason that its entry names. Where
a mutant survives, that check is worth nothing.

{mutants}

## Real processes, real stores

Three schedulers, four workers, six clients and a store server of their own per run; terms of 2 s, leases of 4 s. The faults:
`./dev chaos --list`, [chaos.md](chaos.md). A run holds if no rule was violated: nothing acknowledged is lost, no completion counts
twice, no due time is missing or doubled, and the answers of clients can be put in one order.

{matrix}

{numbers}

The failover is the time from the leader's death until its successor's first assignment starts; a term of 2 s is part of it. With the default of
`scheduler.leader_ttl` (10 s) it is longer by as much. The canary is a task that is submitted after the fault is over.

## For long

{soak}

Medians of the middle and of the last third of the time: a flat line or a failure. `late ms` is from the due time to the start of a task that is
due each second, faults included.

## What each store may lose

| store | a scheduler dies | the store's process dies | the store's machine is lost | the store fails over |
|---|---|---|---|---|
| embedded | nothing | it is the scheduler's own: nothing | everything on its disk | there is none |
| redis | nothing | `appendfsync always`: nothing; `everysec`: up to about a second | what was not replicated | the last writes; `?wait=N` narrows that |
| etcd | nothing | nothing | nothing while a quorum lives | nothing |
| mysql | nothing | nothing with `innodb_flush_log_at_trx_commit = 1` | what was not replicated | the last transactions, if replication is asynchronous |

Lost means: acknowledged, and gone; [guarantees.md](guarantees.md) has the details. The column *acknowledged and lost* above counts it; only
`redis_promote` may have any.

## What this does not show

- Machines that lose their power: processes were killed and stopped, disks were not. The embedded store is also tested on a disk that forgets
  what was not synced, cut at each of its writes (`power_test.cc`); the files of Redis, etcd and MySQL are theirs to sync.
- Networks between machines: everything ran on loopback, with proxies that cut and delay.
- Servers of other versions than those below: of Redis 7.2 and 7.4, MySQL 8.4 and clusters of several releases nothing was run.
- Data races and misused memory: that is what `./dev test thread` and `./dev test debug` look for, whose outcome is not part of this page.
- Times: this machine had {cores} cores and other work to do. Read them as upper bounds.

## With what

{versions}

The conformance suite was also run against servers of other releases:

{servers}

## How to repeat it

```
./dev sim --seeds 100000 --keep-going --result tests/results/sim.jsonl
./dev mutants --result tests/results/mutants.json
./dev chaos --result tests/results/chaos.json
./dev servers --result tests/results/servers.json
./dev soak --hours 8 --result tests/results/soak.json --plots tests/results
./dev report
```

Outcomes stay in their files until they are made again: those of chaos and soak here are of commits before this one.
A seed means the same only in the same commit. `sim` and `chaos` add to their files, the others replace them.
"""


def other_servers(outcomes):
    return table(["server", "version", "tests", "outcome"],
                 [[one["name"].rsplit("-", 1)[0], one["version"], one["tests"] or "ended early",
                   f"{len(one['failed'])} failed" if one["failed"] else "held"] for one in outcomes])


def versions():
    sqlite = said_by("python3", "-c", "import sqlite3; print(sqlite3.sqlite_version)")
    return table(["what", "version"], [
        ["system", f"{platform.system()} {platform.release()}, {platform.machine()}"],
        ["compiler", number_in(said_by("clang++-19", "--version"))],
        ["SQLite (embedded)", sqlite],
        ["Redis", number_in(said_by("redis-server", "--version"))],
        ["etcd", number_in(said_by("etcd", "--version"))],
        ["MariaDB (mysql)", number_in(said_by("mariadbd", "--version"))],
    ])


def main():
    parser = argparse.ArgumentParser(description="Makes the report of what was tried.")
    parser.add_argument("--results", type=pathlib.Path, default=HERE)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs/report.md")
    options = parser.parse_args()
    sim, mutants = read(options.results, "sim.jsonl"), read(options.results, "mutants.json")
    chaos, soak = read(options.results, "chaos.json"), read(options.results, "soak.json")
    missing = [name for name, found in (("sim.jsonl", sim), ("mutants.json", mutants),
                                        ("chaos.json", chaos), ("soak.json", soak)) if not found]
    if missing:
        raise SystemExit(f"report: {', '.join(missing)} is missing in {options.results}: run what the "
                         "end of docs/report.md names first")
    page = PAGE.format(
        commit=said_by("git", "rev-parse", "--short", "HEAD"), date=datetime.date.today().isoformat(),
        short=in_short(sim, mutants, chaos, soak), simulator=simulator(sim), mutants=mutant_list(mutants),
        matrix=chaos_matrix(chaos), numbers=chaos_numbers(chaos), soak=soak_table(soak),
        cores=os.cpu_count(), versions=versions(),
        servers=other_servers(read(options.results, "servers.json")))
    options.out.write_text(page, encoding="utf-8")
    print(f"report: {options.out}")


if __name__ == "__main__":
    main()
