"""Faults under workflows and locks. Their loads come beside the usual one, and have checks of their own."""
import signal

import checker
import linear_load
import parts_checker
import parts_load
from faults import CLUSTERED, EVERY, TERM_SECONDS, fault, wait
from harness import until


def begin_with(*kinds):
    def begin(cluster):
        cluster.start()
        for kind in kinds:
            cluster.add_part(kind)
        until(lambda: all(part_is_under_way(part) for part in cluster.parts),
              "workflows and locks are under way", 60)

    return begin


def violations(cluster, rules):
    """What workflows and locks have to say, which are in the default namespace."""
    found = []
    for part in cluster.parts:
        if isinstance(part, linear_load.LinearLoad):
            found += [] if rules.lossy else part.violations()
        elif isinstance(part, parts_load.LockLoad):
            found += parts_checker.check_locks(part.holds, parts_load.LOCKS)
        else:
            found += parts_checker.check_flows(part.runs, cluster.rows("default"),
                                               checker.runs_from(cluster.ledger_lines()), rules)
    return found


def part_is_under_way(part):
    if isinstance(part, linear_load.LinearLoad):
        return True
    if isinstance(part, parts_load.LockLoad):
        return sum(hold.told == "held" for hold in part.holds) >= 5
    return any(one.outcome == "ok" for one in part.runs)


def lose_leader(cluster):
    """The leader's machine dies; where there is no other scheduler, its supervisor starts it again."""
    leader = cluster.leader()
    leader.kill()
    if not cluster.live():
        cluster.start_again(leader)
    cluster.leader()


@fault("parts", "the leader dies under workflows of 10 × 20 parts and clients that hold locks",
       begin=begin_with(parts_load.FlowLoad, parts_load.LockLoad), stores=EVERY)
def parts_in_short(cluster):
    wait(2)
    lose_leader(cluster)
    wait(2 * TERM_SECONDS)


@fault("flows_kill", "the leader dies three times under workflows of 10 × 20 parts with locks",
       begin=begin_with(parts_load.FlowLoad), stores=EVERY)
def flows_kill(cluster):
    for turn in range(3):
        wait(4)
        if turn and len(cluster.live()) == 1 and len(cluster.schedulers) > 1:
            for scheduler in cluster.schedulers:
                if scheduler.stopped:
                    cluster.start_again(scheduler)
        lose_leader(cluster)
    wait(4)


@fault("locks_kill", "the leader dies twice under clients that hold locks, some of them paused",
       begin=begin_with(parts_load.LockLoad), stores=EVERY)
def locks_kill(cluster):
    for _ in range(2):
        wait(5)
        lose_leader(cluster)
    wait(5)


@fault("locks_pause", "the leader is stopped for three terms under clients that hold locks",
       begin=begin_with(parts_load.LockLoad), stores=CLUSTERED)
def locks_pause(cluster):
    wait(3)
    leader = cluster.leader()
    leader.process.signal(signal.SIGSTOP)
    wait(3 * TERM_SECONDS)
    leader.process.signal(signal.SIGCONT)
    wait(5)
