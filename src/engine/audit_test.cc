// A change that operators make is in the audit, in its very own batch.
#include <functional>

#include "engine/recurring_fixture.h"
#include "model/record.h"

namespace takt::internal {
namespace {

using Kind = AuditDocument::Kind;

ActPtr By(std::string action, AuditChange change = {}) {
    return std::make_shared<const Act>(Act{.who = "ada",
                                           .token_id = "t1",
                                           .role = "operator",
                                           .action = std::move(action),
                                           .space = "default",
                                           .address = "10.0.0.7",
                                           .request_id = "r1",
                                           .change = std::move(change)});
}

template <typename Kind>
Kind As(Kind input, std::string action) {
    input.by = By(std::move(action));
    return input;
}

class AuditTest : public RecurringTest {
  protected:
    AuditEntry Entry(std::size_t index) {
        if (index >= store.audit.size()) {
            ADD_FAILURE() << "there are " << store.audit.size() << " entries";
            return {};
        }
        auto entry = DecodeAuditEntry(store.audit[index].body);
        EXPECT_TRUE(entry);
        return entry ? *entry : AuditEntry{};
    }
    AuditEntry Last() { return Entry(store.audit.size() - 1); }
    // The one entry that this input leaves, in its own batch.
    AuditEntry EntryOf(Duration at, Input input) {
        const std::size_t before = store.audit.size();
        At(at, std::move(input));
        EXPECT_EQ(store.audit.size(), before + 1);
        return store.audit.size() > before ? Last() : AuditEntry{};
    }
    void LeavesNothing(Duration at, Input input) {
        const std::size_t before = store.audit.size();
        At(at, std::move(input));
        EXPECT_EQ(store.audit.size(), before);
    }
    static std::string Target(const AuditEntry& entry) {
        return entry.act.change.target.kind + "/" + entry.act.change.target.id;
    }
};

// Somebody makes a task, changes, pauses, runs and deletes it; each time the entry comes with the
// change, and with the definition as it was and as it is.
TEST_F(AuditTest, ADefinitionIsThereAsItWasAndAsItIs) {
    PutTask made = As(Put({.every = 1h, .payload = "1"}), "make");
    AuditEntry entry = EntryOf(0s, made);
    EXPECT_EQ(Target(entry), "task/report");
    EXPECT_EQ(entry.act.who, "ada");
    EXPECT_EQ(entry.act.action, "make");
    EXPECT_EQ(entry.act.address, "10.0.0.7");
    EXPECT_EQ(store.audit.back().at, WallAt(0s));
    EXPECT_EQ(entry.act.change.before.kind, Kind::kNone);
    ASSERT_EQ(entry.act.change.after.kind, Kind::kTask);
    EXPECT_EQ(DecodeTaskRow(entry.act.change.after.body)->task->payload, "1");

    entry = EntryOf(1s, As(Put({.every = 1h, .payload = "2"}), "change"));
    EXPECT_EQ(DecodeTaskRow(entry.act.change.before.body)->task->payload, "1");
    EXPECT_EQ(DecodeTaskRow(entry.act.change.after.body)->task->payload, "2");

    entry = EntryOf(2s, As(Pause("report"), "pause"));
    EXPECT_FALSE(DecodeTaskRow(entry.act.change.before.body)->state.paused);
    EXPECT_TRUE(DecodeTaskRow(entry.act.change.after.body)->state.paused);
    LeavesNothing(3s, As(Pause("report"), "pause"));

    entry = EntryOf(4s, As(TriggerOf("report"), "trigger"));
    EXPECT_EQ(entry.act.change.after.body, "{\"execution_id\":\"" + RunOf("report", 0) + "\"}");

    entry = EntryOf(5s, As(Drop("report"), "delete"));
    EXPECT_EQ(DecodeTaskRow(entry.act.change.before.body)->task->payload, "2");
    EXPECT_EQ(entry.act.change.after.kind, Kind::kNone);
    EXPECT_FALSE(store.tasks.contains(TaskId("report")));
}

TEST_F(AuditTest, EverythingElseThatOperatorsChangeIsThereToo) {
    At(0s, Join({.id = "w"}));
    At(0s, Once({.id = "a"}));
    EXPECT_EQ(Target(EntryOf(1s, As(CancelOf("a"), "cancel"))), "execution/a");
    EXPECT_EQ(Target(EntryOf(2s, As(RedriveOf("a"), "retry"))), "execution/a");
    Conclude conclude{
        .request = NextRequest(), .execution = ExecutionId("a"), .status = Status::kCancelled};
    AuditEntry entry = EntryOf(3s, As(conclude, "conclude"));
    EXPECT_EQ(entry.act.change.after.body, R"({"status":"cancelled"})");

    entry = EntryOf(4s, As(Limit("mail", {.working_max = 3}), "queue"));
    EXPECT_EQ(Target(entry), "queue/mail");
    EXPECT_EQ(entry.act.change.before.body,
              R"({"paused":false,"concurrency_max":null,"rate_limit":null})");
    EXPECT_EQ(entry.act.change.after.body,
              R"({"paused":false,"concurrency_max":3,"rate_limit":null})");

    entry = EntryOf(5s, As(Set("w", WorkerStatus::kDraining), "drain"));
    EXPECT_EQ(Target(entry), "worker/w");
    EXPECT_THAT(entry.act.change.after.body, ::testing::HasSubstr("draining"));
    EXPECT_EQ(Target(EntryOf(6s, As(Remove("w"), "remove"))), "worker/w");

    entry = EntryOf(7s, As(Use(Strategy::kRandom), "strategy"));
    EXPECT_EQ(entry.act.change.after.body, R"({"strategy":"random"})");

    entry = EntryOf(8s, As(SetLock{.request = NextRequest(), .name = "db", .permits = 3}, "size"));
    EXPECT_EQ(Target(entry), "lock/db");
    EXPECT_EQ(entry.act.change.after.body, R"({"permits":3})");
    At(9s, AcquireLock{.request = NextRequest(), .name = "db", .ttl = 30s, .owner = "me"});
    entry = EntryOf(10s, As(FreeLock{.request = NextRequest(), .name = "db"}, "release"));
    EXPECT_EQ(Target(entry), "lock/db");

    SetSetting set{.request = NextRequest(), .key = "alert/rule/x", .value = "{}"};
    set.by = By("rule", {.target = {"alert_rule", "x"}, .after = JsonDocument("{}")});
    EXPECT_EQ(Target(EntryOf(11s, set)), "alert_rule/x");
    Submit backfill = Once({.id = "run"});
    backfill.by = By("backfill", {.target = {"task", "report"}});
    entry = EntryOf(12s, backfill);
    EXPECT_EQ(Target(entry), "task/report");
    EXPECT_EQ(entry.act.change.after.body, R"({"execution_id":"run"})");
}

// Submits, reports and locks of programs come thousands a second.
TEST_F(AuditTest, TheDailyWorkOfProgramsIsNotThere) {
    At(0s, Join({.id = "w"}));
    At(0s, Once({.id = "a"}));
    At(1s, Success("a"));
    At(2s, AcquireLock{.request = NextRequest(), .name = "db", .ttl = 30s, .owner = "me"});
    At(3s, Set("w", WorkerStatus::kDraining));

    EXPECT_TRUE(store.audit.empty());
}

TEST_F(AuditTest, AnythingThatIsRefusedLeavesNoEntry) {
    At(0s, Put({.every = 1h}));
    LeavesNothing(1s, As(Put({.every = 1h, .if_version = 7}), "change"));
    LeavesNothing(1s, As(Drop("other"), "delete"));
    LeavesNothing(1s, As(Pause("other"), "pause"));
    LeavesNothing(1s, As(TriggerOf("other"), "trigger"));
    LeavesNothing(1s, As(CancelOf("none"), "cancel"));
    LeavesNothing(1s, As(RedriveOf("none"), "retry"));
    LeavesNothing(1s, As(Set("none", WorkerStatus::kDraining), "drain"));
    LeavesNothing(1s, As(Remove("none"), "remove"));
    LeavesNothing(1s, As(FreeLock{.request = NextRequest(), .name = "db"}, "release"));
    LeavesNothing(1s, As(Use(Strategy::kCustom, "none"), "strategy"));
    SwapSettings swap{.request = NextRequest(), .guard = "x.version", .expected = "3", .next = "4"};
    LeavesNothing(1s, As(swap, "namespace"));
}

// The leader dies with a change that it has decided on: neither the change nor its entry is there.
TEST_F(AuditTest, AnEntryIsThereIfAndOnlyIfTheChangeIs) {
    At(0s, Put({.every = 1h}));
    Gather();
    At(1s, As(Pause("report"), "pause"));
    Restart(2s);
    EXPECT_FALSE(TaskOf("report").state.paused);
    EXPECT_TRUE(store.audit.empty());

    EntryOf(3s, As(Pause("report"), "pause"));
    Restart(4s);
    EXPECT_TRUE(TaskOf("report").state.paused);
    EXPECT_EQ(store.audit.size(), 1u);
    EntryOf(5s, As(Resume("report"), "resume"));
}

// An executor brings its tasks each time it starts.
TEST_F(AuditTest, TasksThatAnExecutorBringsUnchangedAreNotToldAgain) {
    PutTask put = As(Put({.every = 1h}), "register");
    put.if_own = true;
    EntryOf(0s, put);
    put = As(Put({.every = 1h}), "register");
    put.if_own = true;
    LeavesNothing(1s, put);
    put = As(Put({.every = 2h}), "register");
    put.if_own = true;
    EntryOf(2s, put);
}

TEST_F(AuditTest, ALargePayloadIsLeftOut) {
    const std::string large = "\"" + std::string(kAuditDocumentBytesMax, 'x') + "\"";
    const AuditEntry entry = EntryOf(0s, As(Put({.every = 1h, .payload = large}), "make"));

    EXPECT_TRUE(entry.act.change.after.cut);
    const auto task = DecodeTaskRow(entry.act.change.after.body);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->task->payload, "");
    EXPECT_EQ(TaskOf("report").task->payload, large) << "the task itself has it";
}

TEST_F(AuditTest, RefusalsAreCounted) {
    AuditEntry refused{.act = *By("tokens"), .refusals = 17, .status = 403};
    const AuditEntry entry = EntryOf(0s, NoteRefusal{.entry = refused});

    EXPECT_EQ(entry.refusals, 17u);
    EXPECT_EQ(entry.status, 403u);
}

}  // namespace
}  // namespace takt::internal
