#include "base/failpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

void CommitBefore() {
    TAKT_FAIL_POINT("test.commit.before");
}
bool Write() {
    return TAKT_FAIL_POINT_ERROR("test.write");
}

// Never called: a point is known all the same, else a test could not aim at one that is yet to
// come.
[[maybe_unused]] void NeverPassed() {
    TAKT_FAIL_POINT("test.never.passed");
}

class FailPointTest : public ::testing::Test {
  protected:
    ~FailPointTest() override { EXPECT_TRUE(SetFailPoints("")); }
};

using FailPointDeathTest = FailPointTest;

std::string ListRefusal(std::string_view list) {
    const auto result = SetFailPoints(list);
    return result ? "accepted" : result.error().detail;
}

// The chaos test goes through all the points there are.
TEST_F(FailPointTest, EveryPointIsKnownFromTheStart) {
    EXPECT_THAT(KnownFailPoints(), Contains("test.commit.before"));
    EXPECT_THAT(KnownFailPoints(), Contains("test.never.passed"));
    EXPECT_THAT(KnownFailPoints(), Contains("test.write"));
}

TEST_F(FailPointTest, AnUnarmedPointDoesNothing) {
    CommitBefore();
    EXPECT_FALSE(Write());
}

// A typing error must not make a crash test that never crashes.
TEST_F(FailPointTest, AnUnknownNameIsRefusedWithTheNearest) {
    EXPECT_THAT(ListRefusal("test.comit.befor:exit"),
                HasSubstr("the nearest is test.commit.before"));
    EXPECT_THAT(ListRefusal("test.write:error,nothing:exit"), HasSubstr("no fail point 'nothing'"));
    EXPECT_FALSE(Write());  // Nothing of a refused list is armed.
}

TEST_F(FailPointTest, AListThatCannotBeReadIsRefused) {
    for (const char* list : {"test.write", "test.write:", "test.write:explode",
                             "test.write:error:", "test.write:error:0", "test.write:error:x",
                             "test.write:error:1:2", "test.write:delay=", "test.write:delay=-1",
                             "test.write:delay=600001", ",", "test.write:error,,"}) {
        EXPECT_NE(ListRefusal(list), "accepted") << list;
    }
    EXPECT_THAT(ListRefusal("test.commit.before:error"), HasSubstr("cannot do 'error'"));
}

TEST_F(FailPointTest, AnErrorComesAtEveryPassOrAtTheNth) {
    ASSERT_TRUE(SetFailPoints("test.write:error"));
    EXPECT_TRUE(Write());
    EXPECT_TRUE(Write());
    ASSERT_TRUE(SetFailPoints("test.write:error:2"));
    EXPECT_FALSE(Write());
    EXPECT_TRUE(Write());
    EXPECT_FALSE(Write());
    ASSERT_TRUE(SetFailPoints(""));
    EXPECT_FALSE(Write());
}

TEST_F(FailPointTest, ADelayWaits) {
    ASSERT_TRUE(SetFailPoints("test.commit.before:delay=30"));
    const auto start = std::chrono::steady_clock::now();
    CommitBefore();
    EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
}

// A node dies between the commit and the answer.
TEST_F(FailPointDeathTest, TheProcessDiesAtTheNthPass) {
    EXPECT_EXIT(
        {
            if (!SetFailPoints("test.commit.before:exit:3")) _exit(1);
            CommitBefore();
            CommitBefore();
            fprintf(stderr, "alive, ");
            CommitBefore();
            _exit(2);
        },
        ExitedWithCode(kFailPointExitStatus), "alive, takt: fail point test.commit.before, pass 3");
    EXPECT_EXIT(
        {
            if (!SetFailPoints("test.commit.before:abort")) _exit(1);
            CommitBefore();
        },
        KilledBySignal(SIGABRT), "fail point test.commit.before");
}

// A leader's machine is paused, and wakes up when another leads.
TEST_F(FailPointTest, TheProcessStopsUntilItIsContinued) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        if (!SetFailPoints("test.commit.before:stop")) _exit(1);
        CommitBefore();
        _exit(42);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    ASSERT_EQ(kill(child, SIGCONT), 0);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_F(FailPointTest, TheEnvironmentArms) {
    ASSERT_EQ(setenv("TAKT_FAILPOINTS", "test.write:error", 1), 0);
    EXPECT_TRUE(StartFailPoints());
    EXPECT_TRUE(Write());
    ASSERT_EQ(setenv("TAKT_FAILPOINTS", "test.writ:error", 1), 0);
    EXPECT_FALSE(StartFailPoints());
    ASSERT_EQ(unsetenv("TAKT_FAILPOINTS"), 0);
    EXPECT_TRUE(StartFailPoints());
}

}  // namespace
}  // namespace takt::internal
