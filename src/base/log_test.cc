#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "base/id.h"
#include "base/json.h"
#include "base/log_limit.h"
#include "base/text.h"
#include "base/utf8.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// An operator reads the log on a terminal.
TEST(LogTest, AnEventIsALineOfText) {
    const LogCapture capture;
    Log(LogLevel::kInfo, "node", "leading");
    Log(LogLevel::kWarning, "node", "commit failed",
        {{"term", std::uint64_t{7}},
         {"code", -3},
         {"rate", 0.5},
         {"retry", true},
         {"took", 1500us},
         {"ttl", 90s},
         {"error", "no route"},
         {"id", TaskId("t-1")},
         {"queue", Text("bulk")},
         {"empty", ""},
         {"at", Time(1ms)}});
    EXPECT_THAT(capture.lines(),
                ElementsAre("info node: leading",
                            "warning node: commit failed term=7 code=-3 rate=0.5 retry=true "
                            "took=1.5ms ttl=1m30s error=\"no route\" id=t-1 queue=bulk empty=\"\" "
                            "at=1970-01-01T00:00:00.001Z"));
}

// A collector reads it as JSON.
TEST(LogTest, AnEventIsALineOfJson) {
    const LogCapture capture(LogFormat::kJson);
    Log(LogLevel::kError, "store", "lost \"it\"",
        {{"took", 1500us},
         {"count", 3},
         {"big", std::numeric_limits<std::uint64_t>::max()},
         {"ok", false},
         {"detail", "a\nb"}});
    ASSERT_THAT(capture.lines(), SizeIs(1));
    const auto value = ParseJson(capture.lines()[0]);
    ASSERT_TRUE(value) << value.error().detail;
    EXPECT_TRUE(ParseTime(std::string_view(value->at("time").as_string())));
    EXPECT_EQ(value->at("level").as_string(), "error");
    EXPECT_EQ(value->at("component").as_string(), "store");
    EXPECT_EQ(value->at("message").as_string(), "lost \"it\"");
    EXPECT_EQ(value->at("took_ms").as_double(), 1.5);
    EXPECT_EQ(value->at("count").as_int64(), 3);
    EXPECT_EQ(value->at("big").as_uint64(), std::numeric_limits<std::uint64_t>::max());
    EXPECT_FALSE(value->at("ok").as_bool());
    EXPECT_EQ(value->at("detail").as_string(), "a\nb");
}

// A task is named so that the end of the line is read backwards, or as another name.
TEST(LogTest, NoValueReordersOrHidesTheText) {
    const LogCapture capture;
    Log(LogLevel::kInfo, "api", "created",
        {{"name", "\u202Efdp.exe"}, {"id", "re\u200Bport\u2028x"}});
    EXPECT_THAT(
        capture.lines(),
        ElementsAre("info api: created name=\"\\u202efdp.exe\" id=\"re\\u200bport\\u2028x\""));
}

// A task is named so that the log shows a second, forged event, or commands the terminal.
TEST(LogTest, NoValueStartsALineOrCommandsATerminal) {
    const std::string hostile = "x\n2026 error node: forged{}\r\x1b[2J\x9b\xc2\x9b\xff\x7f\t\"\\";
    for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
        const LogCapture capture(format);
        Log(LogLevel::kInfo, hostile, hostile, {{"name", hostile}});
        ASSERT_THAT(capture.lines(), SizeIs(1));
        const std::string line = capture.lines()[0];
        EXPECT_TRUE(IsValidUtf8(line));
        EXPECT_EQ(line.find("\xc2\x9b"), line.npos);
        for (const char c : line) EXPECT_FALSE((c >= 0 && c < 0x20) || c == 0x7f) << line;
    }
    const LogCapture capture;
    Log(LogLevel::kInfo, "c", "m", {{"v", hostile}});
    EXPECT_EQ(capture.lines()[0],
              "info c: m v=\"x\\n2026 error node: "
              "forged{}\\r\\x1b[2J\\x9b\\u009b\\xff\\x7f\\t\\\"\\\\\"");
}

// Somebody submits a payload of a megabyte that cannot be read, and it is logged.
TEST(LogTest, LongValuesAreCut) {
    std::string value;
    while (value.size() < 1'000'000) value += "\xe4\xbb\xbb";
    for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
        const LogCapture capture(format);
        Log(LogLevel::kInfo, "api", value, {{"payload", value}});
        ASSERT_THAT(capture.lines(), SizeIs(1));
        EXPECT_LT(capture.lines()[0].size(), 2 * kLogValueBytesMax + 300);
        EXPECT_TRUE(IsValidUtf8(capture.lines()[0]));
        EXPECT_THAT(capture.lines()[0], HasSubstr("… (1000002 bytes)"));
        EXPECT_THAT(capture.lines()[0], HasSubstr(format == LogFormat::kText ? "=\"" : "\":\""));
    }
}

// An operator turns on debug output while something is wrong, and off again.
TEST(LogTest, TheLevelChangesAtRunTime) {
    const LogCapture capture(LogFormat::kText, LogLevel::kInfo);
    Log(LogLevel::kDebug, "c", "1");
    SetLogLevel(LogLevel::kDebug);
    EXPECT_TRUE(LogEnabled(LogLevel::kDebug));
    Log(LogLevel::kDebug, "c", "2");
    Log(LogLevel::kTrace, "c", "3");
    SetLogLevel(LogLevel::kOff);
    Log(LogLevel::kError, "c", "4");
    EXPECT_THAT(capture.lines(), ElementsAre("debug c: 2"));
}

TEST(LogTest, LevelsAndFormatsReadBackFromTheirNames) {
    for (int i = 0; i <= 5; ++i) EXPECT_EQ(ParseLogLevel(Name(LogLevel(i))), LogLevel(i));
    EXPECT_EQ(ParseLogLevel("warn"), LogLevel::kWarning);
    EXPECT_FALSE(ParseLogLevel("loud"));
    EXPECT_EQ(ParseLogFormat("json"), LogFormat::kJson);
    EXPECT_EQ(ParseLogFormat("text"), LogFormat::kText);
    EXPECT_FALSE(ParseLogFormat("xml"));
}

// Every part of a node logs at once while an operator changes the level.
TEST(LogTest, ThreadsLogWholeLines) {
    const LogCapture capture;
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([thread] {
            for (int i = 0; i < 500; ++i) {
                Log(LogLevel::kInfo, "c", "m", {{"thread", thread}, {"i", i}});
                if (i % 100 == 0) SetLogLevel(i % 200 == 0 ? LogLevel::kInfo : LogLevel::kTrace);
            }
        });
    }
    threads.clear();
    EXPECT_THAT(capture.lines(), SizeIs(2000));
    EXPECT_THAT(capture.lines(), Each(::testing::MatchesRegex("info c: m thread=[0-3] i=[0-9]+")));
}

// The store is away for an hour and each of a thousand attempts per second says so.
TEST(LogTest, AWarningThatRepeatsIsLeftOut) {
    const LogCapture capture;
    for (int i = 0; i < 1000; ++i) Log(LogLevel::kWarning, "store", "no answer", {{"i", i}});
    Log(LogLevel::kWarning, "store", "another one");
    for (int i = 0; i < 100; ++i) Log(LogLevel::kInfo, "store", "progress");
    EXPECT_THAT(capture.lines(), SizeIs(LogLimiter::kBurst + 1 + 100));
}

TEST(LogLimiterTest, TheNextWindowSaysHowManyWereLeftOut) {
    LogLimiter limiter;
    const Steady start{};
    for (std::uint32_t i = 0; i < LogLimiter::kBurst; ++i) {
        EXPECT_EQ(limiter.Admit("c", "m", start), 0u);
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(limiter.Admit("c", "m", start + 9s), std::nullopt);
    EXPECT_EQ(limiter.Admit("c", "other", start + 9s), 0u);
    EXPECT_EQ(limiter.Admit("c", "m", start + 10s), 5u);
    EXPECT_EQ(limiter.Admit("c", "m", start + 10s), 0u);
}

class LogFileTest : public ::testing::Test {
  protected:
    LogFileTest() {
        std::string pattern = ::testing::TempDir() + "takt_log_XXXXXX";
        EXPECT_NE(mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    ~LogFileTest() override {
        EXPECT_TRUE(StartLogging({}));
        std::filesystem::remove_all(directory_);
    }

    std::vector<std::string> Lines(const std::string& name) {
        std::ifstream file(directory_ / name);
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }

    std::filesystem::path directory_;
};

// A node runs for a year; its log must not.
TEST_F(LogFileTest, AFileIsRenamedWhenItIsFullAndTheOldestGoes) {
    const std::string file = directory_ / "takt.log";
    ASSERT_TRUE(StartLogging(
        {.format = LogFormat::kJson, .file = file, .file_bytes_max = 4000, .files_max = 2}));
    for (int i = 0; i < 200; ++i) Log(LogLevel::kInfo, "c", "line", {{"i", i}});
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        EXPECT_LE(entry.file_size(), 4000u);
        names.push_back(entry.path().filename());
    }
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("takt.log", "takt.1.log", "takt.2.log"));
    // Written through at once: a crash right now would lose nothing.
    EXPECT_THAT(Lines("takt.log").back(), HasSubstr("\"i\":199"));
    for (const std::string& line : Lines("takt.1.log")) EXPECT_TRUE(CheckJson(line)) << line;
}

TEST_F(LogFileTest, TextInAFileHasItsTimeAndNoColour) {
    ASSERT_TRUE(StartLogging({.file = directory_ / "takt.log"}));
    Log(LogLevel::kError, "c", "m");
    ASSERT_THAT(Lines("takt.log"), SizeIs(1));
    const std::string line = Lines("takt.log")[0];
    EXPECT_TRUE(ParseTime(line.substr(0, 24))) << line;
    EXPECT_THAT(line, EndsWith("Z error c: m"));
}

// A typing error in the configuration: say so, and go on logging where it went before.
TEST_F(LogFileTest, AFileThatCannotBeOpenedIsRefused) {
    const LogCapture capture;
    const std::string blocker = directory_ / "file";
    std::ofstream(blocker) << "x";
    const auto result = StartLogging({.file = blocker + "/takt.log"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(result.error().detail, HasSubstr("takt.log"));
    EXPECT_FALSE(StartLogging({.file = directory_ / "x", .file_bytes_max = 0}));
    Log(LogLevel::kInfo, "c", "still here");
    EXPECT_THAT(capture.lines(), SizeIs(1));
}

}  // namespace
}  // namespace takt::internal
