"""What may grow and how much, of the numbers that growth.py finds."""

OVER_HISTORY = ("history", "retention", "backup")
# The limit: a task may cost a fifth more with everything behind it that there is.
HISTORY_COST_MAX = 1.2
# The limit: cost per task from a thousand to a million pending.
PENDING_COST_MAX = 4 / 3
# The limit: from one worker, or one kind of task, to ten thousand.
SIZE_COST_MAX = 4 / 3
# The limit: the 99th percentile of each question over what has finished.
QUESTION_MS_MAX = 50


def check_pending(summaries):
    """Cost per task at a million against a thousand pending, by time and by the server's CPU."""
    rows = []
    for store, found in summaries.get("pending", {}).items():
        if 1_000 not in found or 1_000_000 not in found:
            continue
        few, many = found[1_000], found[1_000_000]
        by_time = few["end_to_end"]["median"] / many["end_to_end"]["median"]
        by_cpu = many["server_cpu_us"]["median"] / few["server_cpu_us"]["median"]
        rows.append({"store": store, "by_time": by_time, "by_cpu": by_cpu,
                     "met": by_time <= PENDING_COST_MAX})  # fmt: skip
    return rows


def check_history(summaries):
    """Cost per task at the most that has finished against nothing, by time and by the server's CPU."""
    rows = []
    for series in OVER_HISTORY:
        for store, found in summaries.get(series, {}).items():
            most = max(found)
            if 0 not in found or most == 0:
                continue
            none, many = found[0], found[most]
            by_time = none["end_to_end"]["median"] / many["end_to_end"]["median"]
            by_cpu = many["server_cpu_us"]["median"] / none["server_cpu_us"]["median"]
            rows.append({"series": series, "store": store, "finished": most, "by_time": by_time,
                         "by_cpu": by_cpu, "met": by_time <= HISTORY_COST_MAX})  # fmt: skip
    return rows


def check_size(summaries):
    """Cost per task at ten thousand workers or kinds against one, by time and by the server's CPU."""
    rows = []
    for series in ("workers", "lanes"):
        for store, found in summaries.get(series, {}).items():
            if 1 not in found or 10_000 not in found:
                continue
            few, many = found[1], found[10_000]
            by_time = few["end_to_end"]["median"] / many["end_to_end"]["median"]
            by_cpu = many["server_cpu_us"]["median"] / few["server_cpu_us"]["median"]
            rows.append({"series": series, "store": store, "by_time": by_time, "by_cpu": by_cpu,
                         "met": by_time <= SIZE_COST_MAX})  # fmt: skip
    return rows


def check_questions(summaries):
    """Each question at the most that has finished."""
    rows = []
    for store, found in summaries.get("history", {}).items():
        most = max(found)
        for name, numbers in found[most].items():
            if name.startswith("p99 of "):
                ms = numbers["median"]
                rows.append({"store": store, "finished": most, "question": name[7:], "ms": ms,
                             "met": ms < QUESTION_MS_MAX})  # fmt: skip
    return rows


def check(summaries):
    """A row for each limit and store, under the names that growth.json has."""
    return {
        "pending_cost": check_pending(summaries),
        "history_cost": check_history(summaries),
        "size_cost": check_size(summaries),
        "questions": check_questions(summaries),
    }


def print_rows(report):
    for row in report["pending_cost"]:
        print(
            f"{'met   ' if row['met'] else 'MISSED'} {row['store']}: a task costs {row['by_time']:.2f} "
            f"times as much time and {row['by_cpu']:.2f} times as much CPU of the servers with a "
            f"million pending as with a thousand; at most 1.33"
        )
    for row in report["history_cost"]:
        print(
            f"{'met   ' if row['met'] else 'MISSED'} {row['store']}, {row['series']}: a task costs "
            f"{row['by_time']:.2f} times as much time and {row['by_cpu']:.2f} times as much CPU of the "
            f"servers with {row['finished']:,} finished as with none; at most {HISTORY_COST_MAX}"
        )
    for row in report["size_cost"]:
        print(
            f"{'met   ' if row['met'] else 'MISSED'} {row['store']}, {row['series']}: a task costs "
            f"{row['by_time']:.2f} times as much time and {row['by_cpu']:.2f} times as much CPU of the "
            f"servers with 10,000 as with one; at most {SIZE_COST_MAX:.2f}"
        )
    for row in report["questions"]:
        print(
            f"{'met   ' if row['met'] else 'MISSED'} {row['store']}, {row['question']}: p99 "
            f"{row['ms']:.1f} ms with {row['finished']:,} finished; below {QUESTION_MS_MAX}"
        )
