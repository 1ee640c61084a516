"""Whether what clients were told of one thing can have happened in some order, one after the other.

A search after Wing and Gong with a memory of what was tried, for each id by itself. Pure: operations in, sentences
out; linear_test.py has histories that must fail.

An operation took effect at one moment between its start and its end. One whose answer was lost may have done so at
any moment after its start, or never.
"""
import collections
import dataclasses
import math

LIVE, SUCCESS, FAILED, CANCELLED = "live", "success", "failed", "cancelled"
STATES = {"pending": LIVE, "scheduled": LIVE, "running": LIVE, "retrying": LIVE,
          "success": SUCCESS, "failed": FAILED, "cancelled": CANCELLED}
STEPS_MAX = 200_000  # Of one search; a history of one id has some dozens of operations.


@dataclasses.dataclass(frozen=True)
class Operation:
    subject: str  # The id, or the lock's name.
    what: str  # submit, cancel, retry, read; acquire, renew, release
    start: float  # Monotonic.
    end: float = math.inf  # Of an operation whose answer was lost: never.
    outcome: str = "unknown"  # ok, refused, absent, unknown
    seen: str = ""  # The state that the answer shows.
    token: int = 0  # Of a lock.
    lease: float = 0.0

    def __str__(self):
        end = "…" if self.end == math.inf else f"{self.end:.3f}"
        shown = self.seen or (f"token {self.token}" if self.token else "")
        return f"{self.what} {self.start:.3f}–{end} {self.outcome} {shown}".strip()


class ExecutionModel:
    """An execution: None, or live, or ended. What is live may end by itself at any time."""
    initial = None

    @staticmethod
    def drift(state):
        return (state, SUCCESS, FAILED) if state == LIVE else (state,)

    @staticmethod
    def step(state, op):
        """The state after the operation; raises KeyError if it cannot have been answered so."""
        unknown = op.outcome == "unknown"
        if op.outcome == "absent":
            return {None: None}[state]
        if op.what == "read":
            return state if unknown else {op.seen: state}[state]
        if op.what == "submit":
            after = LIVE if state is None else state
            return after if unknown else {op.seen: after}[after]
        if op.what == "cancel":
            if op.outcome == "ok":
                return {LIVE: CANCELLED}[state]
            if unknown:
                return CANCELLED if state == LIVE else state
            return {SUCCESS: SUCCESS, FAILED: FAILED, CANCELLED: CANCELLED}[state]
        if op.what == "retry":
            if op.outcome == "ok":
                return {FAILED: LIVE, CANCELLED: LIVE}[state]
            if unknown:
                return LIVE if state in (FAILED, CANCELLED) else state
            return {SUCCESS: SUCCESS, LIVE: LIVE}[state]
        raise ValueError(op.what)


class LockModel:
    """A lock of one permit: (holder's token or 0, when its lease may be over, the highest token so far)."""
    initial = (0, 0.0, 0)

    @staticmethod
    def drift(state):
        return (state,)

    @staticmethod
    def step(state, op):
        holder, over, highest = state
        unknown = op.outcome == "unknown"
        if op.what == "acquire":
            if op.outcome == "refused":
                return {False: state}[holder == 0]
            free = holder == 0 or op.end >= over
            if unknown:
                return (-1, op.start + op.lease, highest) if free else state
            return {True: (op.token, op.start + op.lease, op.token)}[free and op.token > highest]
        held = holder == op.token
        if op.what == "renew":
            if unknown:
                return (holder, op.start + op.lease, highest) if held else state
            # Lost to somebody else, or its lease is over and nobody has told.
            if op.outcome == "refused":
                return {True: (0 if held else holder, over, highest)}[not held or op.end >= over]
            return {True: (holder, op.start + op.lease, highest)}[held]
        if op.what == "release":
            return (0, 0.0, highest) if held else state
        raise ValueError(op.what)


class Search:
    def __init__(self, operations, model):
        self.operations = sorted(operations, key=lambda op: op.start)
        self.model = model
        self.tried = set()
        self.farthest = 0
        self.steps = 0

    def next_ones(self, done):
        """Those that may be next: nothing that is left ended before they began."""
        left = [number for number in range(len(self.operations)) if not done >> number & 1]
        first_end = min((self.operations[number].end for number in left), default=math.inf)
        return [number for number in left if self.operations[number].start <= first_end]

    def possible(self):
        """Whether there is an order; None if that took too long to find out."""
        certain = sum(1 << number for number, op in enumerate(self.operations) if op.end != math.inf)
        stack = [(0, state) for state in self.model.drift(self.model.initial)]
        while stack:
            done, state = stack.pop()
            if done & certain == certain:
                return True
            if (done, state) in self.tried:
                continue
            self.tried.add((done, state))
            self.farthest = max(self.farthest, (done & certain).bit_count())
            self.steps += 1
            if self.steps > STEPS_MAX:
                return None
            # Tried first is what is pushed last: what was answered, before what may never have been done.
            for number in sorted(self.next_ones(done),
                                 key=lambda at: (self.operations[at].end, at), reverse=True):
                try:
                    after = self.model.step(state, self.operations[number])
                except KeyError:
                    continue
                stack += [(done | 1 << number, drifted) for drifted in self.model.drift(after)]
        return False


def check(operations, model):
    """A sentence for each subject whose operations have no order."""
    by_subject = collections.defaultdict(list)
    for op in operations:
        by_subject[op.subject].append(op)
    for subject, own in sorted(by_subject.items()):
        search = Search(own, model)
        found = search.possible()
        if found:
            continue
        what = "no order explains" if found is False else "it took too long to find an order of"
        told = "; ".join(str(op) for op in search.operations)
        yield f"linear: {what} what clients were told of {subject}: {told}"
