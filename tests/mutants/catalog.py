"""The mutants: what each breaks, who has to notice it, and how that one says so.

A name is that of a TAKT_MUTANT in the sources. `sim` are arguments of takt_sim (None: as it comes), `test` a
program of the build and its filter, `chaos` a store and a fault. `says` is part of what the checker says: one
that fails for another reason has not noticed this one.
"""
import dataclasses


@dataclasses.dataclass
class Mutant:
    name: str
    broken: str
    says: tuple  # Any of them.
    sim: str | None = None
    test: tuple | None = None  # (program, filter)
    chaos: tuple | None = None  # (store, fault)
    seeds: int = 400  # Of the simulator, at most.
    sample: bool = True  # Whether ./dev test runs it.

    @property
    def by(self):
        if self.chaos:
            return "chaos " + " ".join(self.chaos)
        return self.test[0] if self.test else "takt_sim"


def engine(name, broken, *says, sim="", **more):
    return Mutant(f"engine.{name}", broken, says, sim=sim, **more)


def node(name, broken, *says, sim="", **more):
    return Mutant(f"node.{name}", broken, says, sim=sim, **more)


def links(name, broken, *says, sim="--executors", **more):
    return Mutant(f"links.{name}", broken, says, sim=sim, **more)


def store(name, broken, *says, test, **more):
    """A store that the conformance suite or the store's own tests have to refuse."""
    kind = name.split(".", maxsplit=1)[0]
    return Mutant(name, broken, says, test=(f"store_{kind}_test", test), **more)


SPACES = "--namespaces 3"
DEATHS = f"{SPACES} --drill deaths --steps 120"
MOVES = f"{SPACES} --drill moves --steps 120"
FORGETFUL = "--forgetful"

MUTANTS = [
    # --- HTTP executors ---------------------------------------------------------------------------
    links("answer_callbacks_early", "a callback is answered by what is decided, not by what is stored",
          "says other than what is stored"),
    links("accept_contradictions", "of two callbacks that contradict each other both are accepted",
          "says other than what is stored"),
    links("accept_lost_failures", "a failure of the attempt before is taken for that of one that was lost",
          "says other than what is stored", seeds=3000, sample=False),
    links("refuse_copies", "a copy of a callback that is stored is refused", "refused that says what is stored"),
    links("lose_results", "the result of a callback is not stored", "a result that its executor did not tell"),
    links("lose_callbacks", "callbacks are not taken", "though it was told in time how it ended"),
    links("refused_is_failed", "a refused connection costs a retry", "failed though nobody said so"),
    links("order_twice", "what an executor has is ordered again and again", "ordered twice by the same leader"),
    links("revive_parted", "an executor's link of an earlier term comes back beside the new one",
          "taken back though its executor has it", seeds=4000, sample=False),
    links("give_back_taken", "an order that cannot be sent again is given to others",
          "taken back though its executor has it", seeds=2000),
    # --- Attempts and workers ---------------------------------------------------------------------
    engine("accept_any_attempt", "a report counts for whatever attempt is current",
           "not of its attempt", "reports of", "before it was committed", "more than it can",
           "was refused although it is stored"),
    engine("forget_failures_on_load", "a new leader forgets how often something failed",
           "forgot failures"),
    engine("forget_losses", "a lost worker is not counted", "lost its worker, and that is not counted"),
    engine("blame_all", "whatever was beside a suspect is blamed with it",
           "SuspectsBeginOneAfterTheOtherAndOnlyTheLastIsBlamed", test=("engine_test", "TrialsTest.*")),
    engine("retry_once_more", "one retry more than the policy says", "failed too often"),
    engine("no_retry_delay", "retries follow at once", "is retried before its delay is over", sample=False),
    engine("slow_timeouts", "attempts time out ten times later", "long after its timeout"),
    engine("early_timeouts", "attempts time out at an eighth of their time", "before its timeout"),
    engine("silent_stops", "a worker is not told that its attempt was cancelled",
           "its worker is not told to stop"),
    engine("free_before_stop", "the turn of a cancelled run is given on while its handler stops",
           "had yet to stop"),
    engine("forget_leftovers", "the next leader forgets whose handler has yet to stop",
           "TheNextLeaderGoesOnWaiting", test=("engine_test", "LeftoverTest.*")),
    engine("over_capacity", "a worker gets one attempt more than it can take",
           "more than its capacity", "more than it can"),
    engine("feed_drained", "a drained worker gets work", "which is drained"),
    engine("forget_maintenance", "a worker in maintenance is back as soon as it connects again",
           "though nobody asked for that"),
    engine("leave_maintenance", "a worker in maintenance is forgotten when it says goodbye",
           "though nobody asked for that"),
    engine("ignore_types", "executions go to workers that do not know their type", "does not serve it"),
    engine("ignore_labels", "executions go to workers without their labels", "does not serve it"),
    engine("ignore_targets", "executions go to workers that they do not name", "does not serve it"),
    engine("keep_lanes", "a worker that comes back as another gets what it was given before",
           "does not serve it", "lay ready although"),
    engine("forget_unfinished", "a step that is tired forgets whom it has not fed", "never ended",
           "the canary did not finish", "lay ready although", "given up long after its timeout"),
    engine("restore_by_serial", "a new leader has what waits in the order in which it was made",
           "WhatHadADelayHoldsBackNobodyWhoIsOlder", test=("engine_test", "TakeoverOrderTest.*")),
    engine("conclusions_are_reports", "what an operator concludes is taken for the worker's own word",
           "WhatWasConcludedWithoutTheWorkerIsStoppedAndRefused", test=("engine_test", "*ConcludedTest*")),
    engine("order_within_lanes", "a worker is given what is ready first, whatever waits for it in other lanes",
           "which is more urgent"),
    engine("ignore_ageing", "to have waited counts for nothing", "which is more urgent", seeds=2000),
    engine("most_tasks", "the worker with most to do is chosen", "by least_tasks", sim="--quiet"),
    engine("skip_turns", "the first worker has every turn", "it was the turn of", sim="--quiet"),
    engine("ignore_weights", "all workers weigh the same", "which is not by its weight", sim="--quiet",
           seeds=2000),
    engine("hash_executions", "each run of a task goes elsewhere", "by consistent_hash", sim="--quiet"),
    engine("ignore_connections", "what workers have open counts for nothing", "by least_connections",
           sim="--quiet"),
    engine("ignore_capacities", "how much room workers have counts for nothing", "by capacity_based",
           sim="--quiet"),
    engine("unstick", "a sticky task moves on", "by sticky", sim="--quiet"),
    engine("ignore_resources", "the load of workers' machines counts for nothing", "by resource_aware",
           sim="--quiet"),
    engine("keep_strategy", "another strategy is said to be used, and is not", "although",
           "by its weight", sim="--quiet"),
    engine("hungry_workers", "a worker that has ended something is left without work until its next "
           "heartbeat", "lay ready although", sim="--quiet"),
    engine("no_grace", "a new leader gives up at once what runs", "had the last attempt in hand",
           sim=DEATHS, seeds=40),
    engine("refuse_hands", "a new leader does not believe workers what they hold",
           "had the last attempt in hand", sim=DEATHS, seeds=40),
    engine("time_out_absent", "a new leader times out what its worker would bring back",
           "had the last attempt in hand", sim=DEATHS, seeds=300),
    # --- Requests ---------------------------------------------------------------------------------
    engine("empty_cancels", "a cancel is confirmed and not carried out",
           "was confirmed as cancelled before it was committed"),
    engine("empty_concludes", "an execution is said to be concluded, and is not",
           "was confirmed as concluded before it was committed"),
    engine("refuse_repeats", "a repeated submit is refused", "conflicts with itself"),
    engine("swallow_refusals", "who is refused gets no answer", "was never answered"),
    # --- Limits, keys, queues ---------------------------------------------------------------------
    engine("keys_by_last_clock", "the end of a unique key's window is written by the clock of the moment",
           "ALeaderThatDiesWhileItsClockIsSetBack", test=("engine_test", "ClockKeysTest.*")),
    engine("forget_doubted_record", "a new leader takes the records of a doubted clock for true",
           "ASecondLeaderThatBeginsAhead", test=("engine_test", "ClockKeysTest.*")),
    engine("forget_limits_on_load", "a new leader counts nobody who is at work already", "are at work"),
    engine("forget_pace", "a start spends nothing of its rate", "than its rate allows", sample=False),
    engine("deep_bucket", "a rate saves up what it did not use", "than its rate allows", sample=False),
    engine("fill_bucket_on_load", "a new leader fills every rate's bucket", "than its rate allows",
           sim=DEATHS, seeds=100),
    engine("forget_keys_on_load", "a new leader does not know who holds a unique key",
           "same unique key"),
    engine("keep_keys", "a unique key is never free again", "was refused although it is free"),
    engine("leak_waiting", "a queue counts for ever what left it without running",
           "refused something as full", "took more than it holds"),
    engine("overfull_queues", "a full queue takes more", "took more than it holds", sample=False),
    engine("ignore_pauses", "a paused queue goes on", "of the paused queue"),
    engine("ignore_queue_max", "a queue's limit of running executions is ignored",
           "are at work than it allows"),
    engine("keep_queues_shut", "a queue that workers found closed is not looked at again", "never ended",
           "the canary did not finish", "which is more urgent"),
    engine("least_urgent_first", "priorities are taken from the wrong end", "which is more urgent"),
    engine("forget_expiry", "what has expired is started all the same", "it had expired"),
    engine("purge_early", "a quarter of the retention is kept", "before its retention is over"),
    # --- Recurring tasks --------------------------------------------------------------------------
    engine("forget_fires", "a fire does not write its task's place", "was accounted for twice",
           "was not written with it", "is no next one"),
    engine("forget_missed", "what was missed leaves no record", "was lost", "was jumped over"),
    engine("forget_downtime", "what was due while nobody led is not even missed", "was jumped over",
           "was never fired"),
    engine("skip_due_times", "every second due time is passed over", "is no next one", "was lost",
           "is none", "was jumped over", "is passed over for"),
    Mutant("model.lose_skipped", "what a change of a zone's clock skips is not fired",
           ("is no next one", "is none", "was jumped over", "was lost", "was never fired", "will never come",
            "is passed over for"), sim=""),
    Mutant("model.make_up_skipped", "what a change of a zone's clock skips is fired, whatever `dst` says",
           ("is no next one", "is none"), sim=""),
    Mutant("model.repeat_hours", "an hour that comes twice is fired twice, whatever `dst` says",
           ("is no next one", "is none"), sim=""),
    engine("forget_turns_on_load", "a new leader lets anybody have the turn", "overlap",
           "beyond its task's backlog_max"),
    engine("ignore_turns", "sequential runs do not wait for each other", "overlap"),
    engine("ignore_skip_mode", "what is to be skipped while another runs is run",
           "has two runs at once", "backlog_max"),
    engine("replace_nothing", "a run that is replaced goes on", "has two runs at once"),
    engine("skip_every_fire", "fires are skipped for no reason",
           "was skipped although no run of its task was going"),
    engine("endless_backlog", "backlog_max is ignored", "beyond its task's backlog_max"),
    engine("forget_deadlines", "start_deadline is ignored", "after its start_deadline"),
    engine("skip_nothing", "misfire_policy skip fires what is late",
           "although what is late is to be skipped"),
    engine("once_is_all", "misfire_policy fire_once fires all", "only the last of several"),
    engine("catch_up_all", "misfires_max is ignored", "beyond misfires_max", sample=False),
    engine("catch_up_none", "misfire_policy fire_all fires nothing that is late",
           "is to be made up for", sample=False),
    engine("no_jitter", "jitter is ignored", "have no jitter"),
    engine("wide_jitter", "jitter is three times as wide", "longer than its jitter"),
    engine("delay_never_ends", "a fixed delay fires once and never again", "will never be fired again"),
    # --- Locks and workflows ----------------------------------------------------------------------
    engine("reuse_lock_tokens", "a new leader begins to count tokens of locks anew", "did not rise"),
    engine("reuse_lock_ids", "a lock that the store lost has its id given to somebody else",
           "TheIdOfALockThatTheStoreLostIsNotGivenAgain", test=("engine_test", "LockTest.*")),
    engine("keep_released_locks", "the row of a lock survives its release", "after its release",
           "two holders", "that is over holds"),
    engine("skip_lock_waiters", "the first in the line of a lock is passed over",
           "which nobody held", "never ended"),
    engine("forget_run_locks_on_load", "a new leader does not know what runs hold",
           "goes on without lock"),
    engine("forget_cursor", "steps are made without moving the run's cursor",
           "more than its cursor says", "was made twice", "contradicts the database"),
    engine("forget_waiting", "steps begin before those they wait for have ended",
           "have not ended as"),
    engine("forget_results", "steps are given nothing of earlier results", "was given"),
    engine("forget_ending_on_load", "a new leader does not know that a run was to end",
           "forgot that it was to end", "though its run was to end"),
    engine("start_in_ended_runs", "what is left of a run that is being ended goes to workers",
           "NothingOfARunThatEndsIsStarted", test=("engine_test", "EndingFlowTest.*")),
    engine("wait_in_circles", "runs that wait for each other do so for ever", "never ended",
           seeds=1500),
    engine("forget_backfills", "the schedule fires what a backfill has run",
           "WhatABackfillRanIsNotCaughtUpWith", test=("engine_test", "BackfillTest.WhatABackfillRan*")),
    engine("old_progress_on_load", "a new leader believes a child, not the newer record of its run",
           "was made twice", "contradicts the database", "successes, not", "forgot", "never ended"),
    engine("forget_lock_tokens", "an epoch that is given again gives its lock tokens again",
           "TokensRiseAboveThoseOfALostTermOfTheSameEpoch", test=("engine_test", "LockTest.Tokens*")),
    engine("lose_lines", "what attempts write is not stored",
           "without a line that was sent before it"),
    engine("endless_logs", "a log has no bound", "than its bound allows"),
    engine("end_by_number", "of two attempts of the same number one is taken for the other, after a store forgot",
           "more than it can", sim=FORGETFUL, seeds=2000),
    # --- Nodes ------------------------------------------------------------------------------------
    node("release_early", "assignments are sent before their commit",
         "was sent to a worker before it was committed"),
    node("ignore_refusals", "a commit that the store refused counts as done",
         "before it was committed", "contradicts the database"),
    node("drop_unknown", "a commit whose answer was lost counts as done", "before it was committed",
         "contradicts the database", "is lost", "never ended", "was never answered"),
    node("give_up_lookups", "a question to the store that fails is not asked again",
         "was never answered"),
    node("forget_askers", "who waits is not answered when a term ends", "was never answered"),
    node("repeat_impossible", "a batch that the store refused as impossible is sent again",
         "a term goes on after a batch of its was refused"),
    node("trust_silence", "a leader trusts its term though the store has not answered for a lease",
         "has not answered for as long as a lease"),
    node("late_leads", "schedulers seldom look whether there is a leader",
         "is without a leader for too long", sim=DEATHS, seeds=40),
    node("eager_shares", "who has just come is given leads at once", "has just come", sim=MOVES,
         seeds=40),
    Mutant("node.deal_anew", "a plan is dealt anew while it is half done", ("WhatItGoesForCountsWhileTheStoreHasNotAnswered",),
           test=("node_test", "PresenceTest.*")),
    Mutant("node.trust_longer", "a leader trusts its term longer than it stands",
           ("both trust to lead",), test=("sim_test", "LeadSimulationTest.NoTwo*")),
    # --- Links and stores of the simulator --------------------------------------------------------
    Mutant("links.answer_for_another", "a scheduler asks the wrong one of its namespaces",
           ("was confirmed before it was committed",), sim=f"{SPACES} --quiet", seeds=40),
    Mutant("links.forget_hands", "what workers bring along to a new leader is not heard",
           ("had the last attempt in hand",), sim=MOVES, seeds=40),
    Mutant("links.forget_epochs", "a scheduler does not ask workers which terms they saw",
           ("a lock token below", "did not finish", "never ended"), sim=FORGETFUL, seeds=2000),
    Mutant("store.forget_gaps", "after a failover batches are applied without those that it lost",
           ("contradicts the database", "without a line that was sent before it",
            "before it was committed"), sim=FORGETFUL),
    Mutant("store.no_fence", "commits of any term are applied",
           ("after one of epoch", "contradicts the database"), sim=""),
    Mutant("store.shared_rows", "ids are looked up in the rows of the first namespace",
           ("was confirmed before it was committed", "is written for namespace",
            "conflicts with itself"), sim=f"{SPACES} --steps 100"),
    Mutant("store.shared_lists", "terms begin with the rows of the first namespace",
           ("is written for namespace", "contradicts the database", "never ended"), sim=SPACES,
           seeds=40),
    Mutant("store.one_line", "all namespaces wait in one line for the store", ("was answered after",),
           sim=f"{SPACES} --drill slow --steps 120", seeds=40),
    # --- Stores against the conformance suite -----------------------------------------------------
    store("embedded.no_fence", "a commit of an older term is applied", "CommitOfAnOlderTermIsRefused",
          test="*CommitOf*:*NonceIsRefused*"),
    store("embedded.no_once", "a repeated batch is applied again", "ARepeatedBatch",
          "ABatchRepeatedAcrossACrash", test="*Repeated*"),
    store("embedded.allow_gaps", "a batch is applied without its forerunner",
          "ABatchWhoseForerunnerIsMissing", test="*Forerunner*"),
    store("embedded.half_batches", "the changes of a batch are written one by one",
          "ABatchIsAppliedWholeOrNotAtAll", test="*WholeOrNotAtAll*"),
    store("embedded.write_nothing", "a commit is acknowledged and rolled back",
          "AReadAfterACommitSeesWhatItWrote", test="*AReadAfterACommit*"),
    store("embedded.unsynced", "commits are not synced to the disk", "AfterAFailedSync",
          test="*AfterAFailedSync*"),
    store("embedded.answer_early", "a commit is answered before it is synced",
          "ACutAtAnyWriteLosesNothingThatWasAcknowledged", test="*ACutAtAnyWrite*"),
    store("embedded.resign_any", "who resigns a lost term deposes the leader",
          "ResigningALostTermSucceedsAndDeposesNobody", "PartitionsHaveLeadersOfTheirOwn",
          test="*Resign*:*PartitionsHave*"),
    store("embedded.same_epoch", "a new term has the epoch of the last", "TheEpochRisesAcrossACrash",
          "ANodeThatAsksAgainGetsANewTerm", test="*Epoch*:*ANodeThatAsksAgain*"),
    store("embedded.depose_leaders", "whoever asks leads", "ASecondCandidateIsTurnedAway",
          test="*ASecondCandidate*"),
    store("embedded.lead_unannounced", "a node leads that nobody knows of",
          "ANodeThatIsNotAnnouncedCannotLead", test="*NotAnnounced*"),
    store("embedded.forget_serials", "the last serial is not kept",
          "LoadReturnsTheHighestSerialEverHandedOut", test="*HighestSerial*"),
    store("embedded.purge_twice_as_much", "a purge deletes more than it may",
          "PurgeDeletesTheOldestAndNoMoreThanItMay", test="*PurgeDeletes*"),
    store("embedded.purge_young", "a purge deletes what is not old enough",
          "AListBesideAPurgeMissesNothingThatStays", test="*AListBesideAPurge*"),
    store("embedded.orphans", "a purge leaves the steps of its runs behind",
          "PurgeTakesTheChildren", test="*PurgeTakes*"),
    store("embedded.keep_settings", "a setting survives its deletion", "SettingsArePut",
          test="*SettingsArePut*"),
    store("embedded.lose_between_pages", "the last row of each page of Load is missing",
          "LoadPagesThroughAllLiveExecutionsInOrder", test="*LoadPagesThroughAllLive*"),
    store("redis.hide_fence", "a commit that Redis refused counts as done",
          "CommitOfAnOlderTermIsRefused", "WhatANewLeaderLoadsIsAllThatTheOldOneWrote",
          test="*CommitOfAnOlderTerm*:*WhatANewLeaderLoads*", sample=False),
    store("redis.one_order", "what ends is appended to the order of retention, whenever it ended",
          "WhatEndedUnderAClockThatWasAhead", test="*WhatEndedUnderAClock*", sample=False),
    store("etcd.one_order", "a purge looks at no epoch behind one that is not due",
          "WhatEndedUnderAClockThatWasAhead", test="*WhatEndedUnderAClock*", sample=False),
    *(store(f"{kind}.drop_late", "a late deletion of a namespace deletes the next one of its number",
            "PartitionsAreDroppedWhole", test="*AreDroppedWhole*", sample=False)
      for kind in ("redis", "etcd", "mysql")),
    store("mysql.half_batches", "the changes of a batch are written one by one",
          "ABatchIsAppliedWholeOrNotAtAll", test="*WholeOrNotAtAll*", sample=False),
    store("mysql.hide_gaps", "a batch without its forerunner counts as done",
          "ABatchWhoseForerunnerIsMissing", test="*Forerunner*", sample=False),
    # --- Schedulers against chaos -----------------------------------------------------------------
    Mutant("node.answer_early", "clients are answered before the commit",
           ("was acknowledged, then not found", "was acknowledged and does not exist"),
           chaos=("redis", "slow"), sample=False),
]
