// An operator's word on an executor, and who may be one, while the store refuses, waits or is full.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "links/push_commit_fixture.h"

namespace takt::internal {
namespace {

class PushOperatorsTest : public PushCommitTest {
  protected:
    using Answered = std::shared_ptr<std::optional<Result<void>>>;

    static Done<void> To(const Answered& to) {
        return [to](const Result<void>& result) { to->emplace(result); };
    }
    Answered Remove() {
        auto answered = std::make_shared<std::optional<Result<void>>>();
        link_.Remove(id_, {}, To(answered));
        runtime_.Run();
        return answered;
    }
    Answered SetStatus(WorkerStatus status, const std::string& id = "executor-1") {
        auto answered = std::make_shared<std::optional<Result<void>>>();
        link_.SetStatus({.worker = WorkerId(Text(id)), .status = status}, To(answered));
        runtime_.Run();
        return answered;
    }
    Answered Register(Worker row) {
        auto answered = std::make_shared<std::optional<Result<void>>>();
        link_.Register(std::move(row), To(answered));
        runtime_.Run();
        return answered;
    }
    void Beat(const std::string& id) {
        link_.Beat(WorkerId(Text(id)), {}, [](const Result<void>&) {});
        runtime_.Run();
    }
    // The store's disk is full, and the node knows it.
    void LoseTheStore() {
        store_.fails = true;
        node_->Tell(SetSetting{.key = Text("any"), .value = Text("thing")});
        runtime_.Run();
    }
    void FindTheStore() {
        store_.fails = false;
        runtime_.Pass(1s);
    }
    std::optional<WorkerStatus> Status(const std::string& id = "executor-1") {
        std::optional<WorkerStatus> status;
        node_->Look([&](const Engine* engine) {
            const auto worker = engine->FindWorker(WorkerId(Text(id)));
            if (worker) status = worker->row.status;
        });
        runtime_.Run();
        return status;
    }
    static ErrorCode CodeOf(const Answered& answered) {
        if (!*answered) return ErrorCode::kCancelled;
        return **answered ? ErrorCode{} : (**answered).error().code;
    }
    void FinishTheOrder() {
        order_->second(HttpAnswer{.status = 200, .headers = {}, .body = R"({"status":"success"})"});
        runtime_.Run();
    }
    void SubmitOne() {
        const NewTaskPtr task = new Task;
        task->type = Text("report");
        task->queue = Text("default");
        node_->Ask(Submit{.task = task}, [](const Result<Answer>& answer) { ASSERT_TRUE(answer); });
        runtime_.Run();
    }

    const WorkerId id_{Text("executor-1")};
};

// The operator is told that it could not be done: then it must not be done by halves either, with the
// node giving it work that is never sent.
TEST_F(PushOperatorsTest, AnExecutorWhoseRemovalWasRefusedGoesOn) {
    LoseTheStore();
    EXPECT_EQ(CodeOf(Remove()), ErrorCode::kUnavailable);
    EXPECT_TRUE(link_.View(id_)) << "the link has forgotten it, the node has not";
    FindTheStore();

    FinishTheOrder();
    SubmitOne();
    EXPECT_EQ(orders_, 2);
}

TEST_F(PushOperatorsTest, AnExecutorThatCouldNotBePutOfflineGoesOn) {
    LoseTheStore();
    EXPECT_EQ(CodeOf(SetStatus(WorkerStatus::kOffline)), ErrorCode::kUnavailable);
    FindTheStore();

    EXPECT_EQ(Status(), WorkerStatus::kOnline);
    FinishTheOrder();
    SubmitOne();
    EXPECT_EQ(orders_, 2);
}

// It was declared offline; that it may come back must not be forgotten on the way.
TEST_F(PushOperatorsTest, AnExecutorThatCouldNotBePutOnlineStaysOffline) {
    ASSERT_EQ(CodeOf(SetStatus(WorkerStatus::kOffline)), ErrorCode{});
    ASSERT_EQ(Status(), WorkerStatus::kOffline);
    LoseTheStore();
    EXPECT_EQ(CodeOf(SetStatus(WorkerStatus::kOnline)), ErrorCode::kUnavailable);
    FindTheStore();
    EXPECT_EQ(Status(), WorkerStatus::kOffline);

    EXPECT_EQ(CodeOf(SetStatus(WorkerStatus::kOnline)), ErrorCode{});
    EXPECT_EQ(Status(), WorkerStatus::kOnline);
}

// The removal is on its way to the store, and what the executor has in hand comes back: a session that
// is opened for that would make it known again.
TEST_F(PushOperatorsTest, WhatIsGivenBackDuringARemovalDoesNotBringTheExecutorBack) {
    store_.holds = true;
    const auto removed = Remove();
    ASSERT_FALSE(*removed) << "answered before it is stored";
    order_->second(Fail(ErrorCode::kUnavailable, "connection refused"));
    Beat("executor-1");
    store_.LetGo();
    runtime_.Pass(1s);

    EXPECT_EQ(CodeOf(removed), ErrorCode{});
    EXPECT_EQ(Status(), std::nullopt);
    EXPECT_FALSE(link_.View(id_));
}

// A service is removed and comes at once, as a deployment does: it stays.
TEST_F(PushOperatorsTest, AnExecutorThatRegistersDuringItsRemovalIsThere) {
    store_.holds = true;
    const auto removed = Remove();
    const auto registered = Register(Row("executor-1"));
    store_.LetGo();
    runtime_.Pass(1s);

    EXPECT_EQ(CodeOf(removed), ErrorCode{});
    EXPECT_EQ(CodeOf(registered), ErrorCode{});
    EXPECT_EQ(Status(), WorkerStatus::kOnline);
    EXPECT_TRUE(link_.View(id_));
}

// Its place was taken while it was offline. It is told so, and tries when it next shows that it lives,
// not as fast as the node can refuse it.
TEST_F(PushOperatorsTest, AnExecutorForWhichThereIsNoRoomWaitsForItsNextHeartbeat) {
    ASSERT_EQ(CodeOf(SetStatus(WorkerStatus::kOffline)), ErrorCode{});
    Configure configure{.retention = 24h};
    configure.quotas.workers = 1;
    node_->SetEngineConfig(configure);
    Worker beats = Row("executor-2");
    beats.health_url = {};
    ASSERT_EQ(CodeOf(Register(beats)), ErrorCode{});

    const auto registered = Register(Row("executor-1"));
    EXPECT_EQ(CodeOf(registered), ErrorCode::kExhausted);
    SetStatus(WorkerStatus::kOnline);
    EXPECT_EQ(Status(), WorkerStatus::kOffline);

    ASSERT_EQ(CodeOf(SetStatus(WorkerStatus::kOffline, "executor-2")), ErrorCode{});
    EXPECT_EQ(CodeOf(Register(Row("executor-1"))), ErrorCode{});
    EXPECT_EQ(Status(), WorkerStatus::kOnline);
}

// Two services start at once, by mistake with one id at one address. The node has heard of neither when
// the second asks.
TEST_F(PushOperatorsTest, TheSecondOfTwoServicesThatRegisterOneNewIdAtOnceIsRefused) {
    std::optional<Result<void>> first;
    std::optional<Result<void>> second;
    const auto only = [](const std::string& own) {
        return [own](const Text& service) { return service == Text(own); };
    };
    link_.Register(
        Row("executor-2", "reports"), [&](const Result<void>& done) { first = done; },
        only("reports"));
    link_.Register(
        Row("executor-2", "bills"), [&](const Result<void>& done) { second = done; },
        only("bills"));
    runtime_.Run();

    ASSERT_TRUE(first && second);
    EXPECT_TRUE(*first);
    ASSERT_FALSE(*second);
    EXPECT_EQ(second->error().code, ErrorCode::kConflict);
    Text service;
    node_->Look([&](const Engine* engine) {
        service = engine->FindWorker(WorkerId(Text("executor-2")))->row.group;
    });
    runtime_.Run();
    EXPECT_EQ(service, Text("reports"));
}

// Some of a registration is with the node, the rest was refused: who is told that nothing was done
// looks elsewhere, and is given work here.
TEST_F(PushOperatorsTest, ARegistrationThatMayHaveBeenTakenIsNotCalledUndone) {
    LoseTheStore();
    EXPECT_EQ(CodeOf(Register(Row("executor-2"))), ErrorCode::kUnknown);
    FindTheStore();
    EXPECT_EQ(Status("executor-2"), WorkerStatus::kOnline);
}

// It was declared offline, and registers while the store is away: it is online when that is back, and
// is given work. The next leader must not find the old word, and take from it what it has.
TEST_F(PushOperatorsTest, WhatWasGivenAfterARegistrationWithoutTheStoreStaysUnderTheNextLeader) {
    ASSERT_EQ(CodeOf(SetStatus(WorkerStatus::kOffline)), ErrorCode{});
    LoseTheStore();
    ASSERT_EQ(CodeOf(Register(Row("executor-1"))), ErrorCode::kUnknown);
    FindTheStore();
    ASSERT_EQ(Status(), WorkerStatus::kOnline);
    ASSERT_EQ(orders_, 2);
    const auto token = order_->first.headers.at(1);

    node_->NoteEpoch(100);
    runtime_.Pass(3s);

    EXPECT_EQ(orders_, 3) << "the new leader says where its callback is to go";
    EXPECT_EQ(order_->first.headers.at(1), token);
    EXPECT_EQ(Status(), WorkerStatus::kOnline);
}

}  // namespace
}  // namespace takt::internal
