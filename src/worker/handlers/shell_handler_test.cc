// The shell handler with real processes.
#include "worker/handlers/shell_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/attempt_fixture.h"
#include "worker/handlers/process.h"

namespace takt::internal {
namespace {

using testing::ElementsAre;
using namespace testing_support;

std::shared_ptr<ShellTaskHandler> Shell(std::vector<std::string> argv = {}) {
    return *ShellTaskHandler::Create({.allow_shell = true,
                                      .argv = std::move(argv),
                                      .kill_grace = Duration(100),
                                      .log_patience = Duration(100)});
}

TEST(ShellTaskHandlerTest, IsOffUnlessAllowed) {
    const auto handler = ShellTaskHandler::Create({});
    ASSERT_FALSE(handler);
    EXPECT_EQ(handler.error().field, "allow_shell");
}

TEST(ShellTaskHandlerTest, TheOutputIsTheLogAndTheExitStatusTheCode) {
    Attempt attempt(R"({"command": "echo one; echo two >&2; printf three; exit 3"})");
    const TaskResult result = attempt.Run(*Shell());
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(attempt.lines, ElementsAre("one", "two", "three"));
}

// No shell: what looks like one's syntax is only text.
TEST(ShellTaskHandlerTest, ArgumentsAreNotInterpreted) {
    Attempt attempt(R"({"argv": ["echo", "$HOME; ls | wc", "*"]})");
    EXPECT_TRUE(attempt.Run(*Shell()).success());
    EXPECT_THAT(attempt.lines, ElementsAre("$HOME; ls | wc *"));
}

TEST(ShellTaskHandlerTest, AConfiguredProgramGetsThePayloadAsItsInput) {
    Attempt attempt("payload " + std::string(300'000, 'x') + "\n");
    EXPECT_TRUE(attempt.Run(*Shell({"wc", "-c"})).success());
    EXPECT_THAT(attempt.lines, ElementsAre("300009"));
    // One that does not read it is no problem either.
    EXPECT_TRUE(Attempt(std::string(300'000, 'x')).Run(*Shell({"true"})).success());
}

TEST(ShellTaskHandlerTest, TheEnvironmentTellsWhichAttemptItIs) {
    Attempt attempt(R"({"command": "echo $TAKT_EXECUTION_ID $TAKT_ATTEMPT $TAKT_EPOCH"})");
    attempt.Run(*Shell());
    EXPECT_THAT(attempt.lines, ElementsAre("e-1 2 7"));
}

TEST(ShellTaskHandlerTest, TheEnvironmentHasTheTokensOfItsLocksAndItsPlaceInAWorkflow) {
    Attempt attempt(R"({"command": "echo $TAKT_LOCKS/$TAKT_LOCK_NAME/$TAKT_LOCK_TOKEN; )"
                    R"(echo $TAKT_PARENT_ID $TAKT_STEP $TAKT_SHARD_INDEX $TAKT_SHARD_TOTAL"})");
    attempt.task.locks = {{"ledger", 51539607553, 1}, {"gpu", 51539607554, 2}};
    attempt.task.parent_id = "run";
    attempt.task.step = "map";
    attempt.task.shard_index = 3;
    attempt.task.shard_total = 8;
    attempt.Run(*Shell());
    EXPECT_THAT(attempt.lines, ElementsAre("ledger=51539607553 gpu=51539607554/ledger/51539607553",
                                           "run map 3 8"));
}

// A person who may submit a shell task reads what the worker's operator put into its environment:
// the token, the store's password, the cloud's keys.
TEST(ShellTaskHandlerTest, SecretsOfTheWorkerAreNotInTheEnvironmentOfItsProcesses) {
    setenv("TAKT_WORKER_TOKEN", "secret", 1);
    setenv("LC_SHOWN", "c", 1);
    setenv("SHOWN_BY_NAME", "d", 1);
    const auto shell = *ShellTaskHandler::Create({.allow_shell = true, .env = {"SHOWN_BY_NAME"}});
    Attempt attempt(
        R"({"command": "echo $TAKT_WORKER_TOKEN:$LC_SHOWN:$SHOWN_BY_NAME:$TAKT_ATTEMPT; ls /"})");
    EXPECT_TRUE(attempt.Run(*shell).success()) << "PATH is needed";
    EXPECT_EQ(attempt.lines.at(0), ":c:d:2");
    unsetenv("TAKT_WORKER_TOKEN");
    unsetenv("LC_SHOWN");
    unsetenv("SHOWN_BY_NAME");
    EXPECT_EQ(ShellTaskHandler::Create({.allow_shell = true, .env = {"A=b"}}).error().field, "env");
}

// A worker with many connections runs out of descriptors, at any of the places that need one. The
// attempt may be tried again, and no process is left behind.
TEST(ShellTaskHandlerTest, WithoutADescriptorToSpareTheAttemptFailsAndMayBeRetried) {
    const auto shell = Shell();
    // A sanitizer needs descriptors of its own when it meets a class for the first time.
    ASSERT_TRUE(Attempt(R"({"argv": ["true"]})").Run(*shell).success());
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int lowest = dup(STDIN_FILENO);
    ASSERT_GE(lowest, 0);
    close(lowest);
    int failures = 0;
    TaskResult result;
    for (int spare = 0; spare < 100 && (spare == 0 || !result.success()); ++spare) {
        const rlimit tight{static_cast<rlim_t>(lowest + spare), before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
        result = Attempt(R"({"argv": ["true"]})").Run(*shell);
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
        failures += result.success() ? 0 : 1;
        EXPECT_FALSE(result.final) << result.message;
    }
    EXPECT_TRUE(result.success()) << result.message;
    EXPECT_GE(failures, 6) << "two pipes, an eventfd and a pidfd";
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(ShellTaskHandlerTest, PayloadsThatNameNoProgramAreRejected) {
    for (const char* payload : {"", "[]", "{}", R"({"argv": []})", R"({"argv": "ls"})",
                                R"({"argv": [1]})", R"({"argv": ["a"], "command": "b"})", "{",
                                R"({"command": "echo one\u0000; echo two"})"}) {
        const TaskResult result = Attempt(payload).Run(*Shell());
        EXPECT_TRUE(result.rejected) << payload;
        EXPECT_TRUE(result.final);
    }
    EXPECT_EQ(Attempt(R"({"argv": ["/no/such/program"]})").Run(*Shell()).code, 127);
}

// The whole group dies, also what the program started and forgot.
TEST(ShellTaskHandlerTest, AStopKillsTheProcessGroup) {
    Attempt attempt(R"({"command": "trap '' TERM; sleep 100 & echo $!; wait; sleep 100"})");
    attempt.on_line = [&](std::string_view) { attempt.stop.request_stop(); };
    const TaskResult result = attempt.Run(*Shell());
    EXPECT_EQ(result.code, 128 + SIGKILL);
    const pid_t child = std::stoi(attempt.lines.at(0));
    // Readable once it has ended, whether or not whoever adopted it has reaped it.
    const Descriptor watch(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    if (!watch.open()) {
        EXPECT_EQ(errno, ESRCH) << "it cannot be watched";
        return;
    }
    pollfd ended{.fd = watch.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, 10'000), 1) << "it still runs";
}

// How much of a log is kept is the scheduler's to say, which counts what it drops.
TEST(ShellTaskHandlerTest, AllOfALongOutputIsSaid) {
    Attempt attempt(R"({"command": "seq 1000000 1500000"})");
    EXPECT_TRUE(attempt.Run(*Shell()).success());
    EXPECT_EQ(attempt.lines.size(), 500'001u);
    EXPECT_EQ(attempt.lines.back(), "1500000");
}

// A program writes faster than the network takes it.
TEST(ShellTaskHandlerTest, AProcessWaitsUntilItsOutputCanBeSent) {
    const auto shell =
        *ShellTaskHandler::Create({.allow_shell = true, .log_patience = Duration(3'600'000)});
    Attempt attempt(R"({"command": "seq 100000"})");
    int looks = 0;
    std::size_t said = 0;
    bool room = true;
    attempt.has_room = [&] {
        if (!room) EXPECT_EQ(attempt.lines.size(), said) << "nothing is said meanwhile";
        said = attempt.lines.size();
        room = ++looks % 3 == 0;
        return room;
    };
    EXPECT_TRUE(attempt.Run(*shell).success());
    EXPECT_EQ(attempt.lines.size(), 100'000u);
}

// No scheduler is there for hours: the work is done all the same.
TEST(ShellTaskHandlerTest, AProcessDoesNotWaitForEverForItsOutputToBeSent) {
    Attempt attempt(R"({"command": "seq 100000"})");
    attempt.has_room = [] { return false; };
    EXPECT_TRUE(attempt.Run(*Shell()).success());
    EXPECT_EQ(attempt.lines.size(), 100'000u);
}

}  // namespace
}  // namespace takt::internal
