"""The faults of an installation with several namespaces: what one scheduler leads and others do not."""
import signal

from faults import EVERY, TERM_SECONDS, fault, wait
from harness import until

# Seconds instead of minutes between two moves of a lead.
QUICK_SHARES = {"TAKT_FAILPOINTS": "server.shares.quick:error"}


def begin_with_spaces(count, variables=None):
    variables = variables or {}
    return lambda cluster: cluster.start(first=variables, later=[variables] * 2, spaces=count)


def counts(cluster):
    """How many namespaces each scheduler that lives leads, by `takt status`."""
    return {node["node_id"]: len(node["leads"]) for node in cluster.status().get("nodes", [])}


def is_even(cluster):
    found = counts(cluster)
    nodes = [one.node for one in cluster.live()]
    leads = [found.get(node, 0) for node in nodes]
    return sum(leads) == len(cluster.spaces) and max(leads) - min(leads) <= 1


def check_shares(cluster):
    until(lambda: is_even(cluster), "each scheduler leads its share", 120)

    def metrics_agree():
        shown = counts(cluster)
        return all(one.metric("scheduler_is_leader") == shown[one.node] for one in cluster.live())

    until(metrics_agree, "metrics say the same as status", 10)


def leader_of_some(cluster):
    """A scheduler that leads some namespaces and follows others, the default one among these."""
    until(lambda: is_even(cluster), "each scheduler leads its share", 60)
    leads = cluster.leads()
    return next(one for one in cluster.live()
                if one.node in leads.values() and one.node != leads["default"])


@fault("shares", "twelve namespaces, a share for each scheduler; the one with the default one dies",
       begin=begin_with_spaces(11), stores=EVERY)
def shares(cluster):
    check_shares(cluster)
    leader = cluster.leader()
    cluster.note_lost_leads(leader)
    leader.kill()
    if not cluster.live():
        cluster.lost_leads = {}  # Nobody else could lead: it takes as long as the supervisor does.
        cluster.start_again(leader)
        until(leader.leads, "it leads again", 30)
    check_shares(cluster)


@fault("spaces_kill", "a scheduler dies that leads some namespaces and follows others",
       begin=begin_with_spaces(5))
def spaces_kill(cluster):
    leader = leader_of_some(cluster)
    cluster.note_lost_leads(leader)
    leader.kill()


@fault("spaces_pause", "a scheduler is stopped for three terms that leads some and follows others",
       begin=begin_with_spaces(5))
def spaces_pause(cluster):
    leader = leader_of_some(cluster)
    cluster.note_lost_leads(leader)
    leader.process.signal(signal.SIGSTOP)
    wait(3 * TERM_SECONDS)
    leader.process.signal(signal.SIGCONT)


@fault("spaces_cut", "a scheduler is cut off from the store that leads some and follows others",
       begin=begin_with_spaces(5))
def spaces_cut(cluster):
    leader = leader_of_some(cluster)
    cluster.note_lost_leads(leader)
    for proxy in leader.proxies:
        proxy.freeze()
    wait(3 * TERM_SECONDS)
    for proxy in leader.proxies:
        proxy.heal()


@fault("spaces_hand_over", "a scheduler comes back, and is handed its share under load",
       begin=begin_with_spaces(5, QUICK_SHARES))
def spaces_hand_over(cluster):
    leader = leader_of_some(cluster)
    leader.kill()
    until(lambda: is_even(cluster), "the others lead its share", 30)
    cluster.start_again(leader)
    check_shares(cluster)


@fault("spaces_flap", "a scheduler joins and leaves twice a second, beside three that are well",
       begin=begin_with_spaces(5))
def spaces_flap(cluster):
    before = cluster.leads()
    cluster.add_scheduler({})
    passer_by = cluster.schedulers[-1]
    for turn in range(20):
        wait(0.25)
        passer_by.stopped = True
        passer_by.process.signal(signal.SIGKILL if turn % 2 else signal.SIGTERM)
        passer_by.process.wait()
        wait(0.25)
        if turn < 19:
            cluster.start_again(passer_by)
    if cluster.leads() != before:
        raise AssertionError(f"{before} became {cluster.leads()}")


@fault("spaces_slow", "the store is stuck for one namespace: somebody holds its tables",
       begin=begin_with_spaces(5), stores=("mysql",))
def spaces_slow(cluster):
    before = cluster.leads()
    poor = cluster.spaces[1]  # The first that was made, with the number 1.
    finished = cluster.finished()
    if not cluster.store.hold_tables("takt_1_", 3 * TERM_SECONDS):
        raise AssertionError(f"{poor} has no tables")
    if cluster.finished() == finished:
        raise AssertionError("nothing was run in the others")
    after = cluster.leads()
    moved = {space: (node, after.get(space)) for space, node in before.items()
             if space != poor and after.get(space) != node}
    if moved:
        raise AssertionError(f"{poor} was stuck, and others changed their leader: {moved}")
