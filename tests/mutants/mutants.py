#!/usr/bin/env python3
"""Arms one mutant after the other and shows that each is noticed, for the right reason.

usage: mutants.py [--sample] [--list] [--result FILE] [NAME…]

A mutant is a place in the sources that does what is wrong while it is armed (TAKT_MUTANT in src/base/failpoint.h).
catalog.py says what each breaks, who has to notice it and what that one says then. The programs are those of
TAKT_BUILD [build].
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import catalog

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("TAKT_BUILD", ROOT / "build"))
SECONDS_MAX = 240  # Of one mutant: far beyond what any takes.


@dataclasses.dataclass
class Outcome:
    name: str
    broken: str
    by: str
    caught: bool
    where: str = ""  # The seed or the tests.
    said: str = ""
    seconds: float = 0.0


def say(text):
    print(text, flush=True)


def run(command, mutant):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TAKT_")}
    if mutant.chaos:  # Its clients and workers are whole; cluster.py arms the schedulers.
        variables |= {"TAKT_MUTANT": mutant.name, "TAKT_BINARY": str(BUILD / "takt"),
                      "PYTHONDONTWRITEBYTECODE": "1"}
    else:
        variables["TAKT_FAILPOINTS"] = f"mutant.{mutant.name}:error"
    try:
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", env=variables,
                               timeout=SECONDS_MAX, check=False, cwd=ROOT)
        return ended.returncode, ended.stdout + ended.stderr
    except subprocess.TimeoutExpired:
        return 0, f"not within {SECONDS_MAX} s"
    except OSError as error:
        raise SystemExit(f"mutants: {error}; ./dev mutants builds what it needs") from error


def command_of(mutant):
    if mutant.test:
        program, which = mutant.test
        return [BUILD / program, f"--gtest_filter={which}", "--gtest_brief=1"]
    if mutant.chaos:
        store, fault = mutant.chaos
        return [sys.executable, ROOT / "tests/chaos/chaos.py", "--store", store, "--fault", fault]
    return [BUILD / "takt_sim", "--seeds", str(mutant.seeds), *mutant.sim.split()]


def read(mutant, text):
    """(where, what was said) of a checker's output."""
    if mutant.test:
        failed = sorted(set(re.findall(r"\[  FAILED  \] (\S+?),? ", text + " ")))
        return ", ".join(name.split(".")[-1].split("/")[0] for name in failed), " ".join(failed) + text
    if mutant.chaos:
        return " ".join(mutant.chaos), "; ".join(re.findall(r"VIOLATION (.*)", text))
    found = re.search(r"seed (\d+) FAILED: (.*)", text)
    return (f"seed {found[1]}", found[2]) if found else ("", "")


def try_out(mutant):
    began = time.monotonic()
    code, text = run(command_of(mutant), mutant)
    where, said = read(mutant, text)
    caught = code == 1 and any(words in said for words in mutant.says)
    outcome = Outcome(mutant.name, mutant.broken, mutant.by, caught, where,
                      where if mutant.test else said, time.monotonic() - began)
    if not caught:
        outcome.said = said[:300] or text.strip()[-300:]
    return outcome


def show(outcomes):
    table = [["mutant", "what is broken", "noticed by", "where", "s"]]
    for one in outcomes:
        table.append([one.name, one.broken, one.by if one.caught else "NOBODY", one.where[:60],
                      f"{one.seconds:.1f}"])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    for one in outcomes:
        if not one.caught:
            say(f"NOT NOTICED: {one.name} ({one.broken}); {one.by} said: {one.said or 'nothing'}")
    say(f"{sum(one.caught for one in outcomes)} of {len(outcomes)} mutants were noticed, in "
        f"{sum(one.seconds for one in outcomes):.0f} s")


def keep(outcomes, file):
    """Writes the outcomes, in the place of earlier ones of the same mutants."""
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    found = {one["name"]: one for one in before} | {one.name: dataclasses.asdict(one) for one in outcomes}
    ordered = [found[one.name] for one in catalog.MUTANTS if one.name in found]
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def in_sources():
    """The names of all mutants that the sources have."""
    names = set()
    for folder in ("src", "tests"):
        for source in [*(ROOT / folder).rglob("*.cc"), *(ROOT / folder).rglob("*.h")]:
            names.update(re.findall(r'TAKT_MUTANT\("([^"]+)"\)', source.read_text("utf-8")))
    return names


def check_catalog():
    """What is wrong with the catalog itself."""
    listed = [one.name for one in catalog.MUTANTS]
    missing = sorted(in_sources() - set(listed))
    unknown = sorted(set(listed) - in_sources())
    return ([f"{name} is in the sources and not in catalog.py" for name in missing] +
            [f"{name} is in catalog.py and not in the sources" for name in unknown] +
            [f"{name} is there twice" for name in sorted(set(listed)) if listed.count(name) > 1])


def main():
    parser = argparse.ArgumentParser(description="Shows that the checkers notice what is broken.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sample", action="store_true", help="only those that take no server")
    parser.add_argument("--list", action="store_true", help="show all mutants and end")
    parser.add_argument("--result", help="keep the outcomes in this file, as JSON")
    options = parser.parse_args()
    faults = check_catalog()
    if faults:
        raise SystemExit("mutants: " + "; ".join(faults))
    known = {one.name: one for one in catalog.MUTANTS}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        raise SystemExit(f"mutants: there is no {', '.join(unknown)}; --list shows which there are")
    if options.list:
        for one in catalog.MUTANTS:
            say(f"{one.name:32} {one.broken} ({one.by})")
        return 0
    chosen = [known[name] for name in options.names] or [
        one for one in catalog.MUTANTS if one.sample or not options.sample]
    outcomes = []
    for number, mutant in enumerate(chosen, 1):
        outcomes.append(try_out(mutant))
        one = outcomes[-1]
        say(f"[{number}/{len(chosen)}] {one.name}: {'noticed, ' + one.where if one.caught else 'NOT NOTICED'} "
            f"({one.seconds:.1f} s)")
    show(outcomes)
    if options.result:
        keep(outcomes, pathlib.Path(options.result))
    return 0 if all(one.caught for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
