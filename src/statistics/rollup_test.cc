#include "statistics/rollup.h"

#include <gtest/gtest.h>

#include <random>

#include "statistics/report.h"
#include "statistics/series.h"

namespace takt::internal {
namespace {

using namespace std::chrono_literals;

const Time kNoon = *ParseTime("2026-11-15T12:00:00Z");
const Day kDay = std::chrono::floor<std::chrono::days>(kNoon);

struct Ended {
    std::string task = "nightly";
    std::string name = "Nightly";
    std::string type = "report";
    std::string worker = "w-1";
    Status status = Status::kSuccess;
    Origin origin = Origin::kFire;
    Time at = kNoon;
    Duration wait{10};
    Duration ran{100};
    std::uint32_t failures = 0;
    Reason reason = Reason::kNone;
    std::string message;
};

Execution RowOf(const Ended& run) {
    NewTaskPtr task(new Task);
    task->id = TaskId(Text(run.task));
    task->name = run.name;
    task->type = run.type;
    task->queue = "default";
    Execution row;
    row.id = ExecutionId("e");
    row.task = task;
    row.status = run.status;
    row.origin = run.origin;
    row.worker = WorkerId(Text(run.worker));
    row.finished_at = run.at;
    if (run.status == Status::kSuccess || run.status == Status::kFailed) {
        row.started_at = run.at - run.ran;
        row.ready_at = row.started_at - run.wait;
    }
    row.failures = run.failures;
    boost::intrusive_ptr<Outcome> outcome(new Outcome);
    outcome->reason = run.reason;
    outcome->message = run.message;
    row.outcome = outcome;
    return row;
}

// The lines of a report over what a rollup has in memory.
std::vector<ReportLine> Lines(const Rollup& rollup, ReportQuery query) {
    if (query.to == Time{}) {
        query.from = kNoon - 48h;
        query.to = kNoon + 48h;
    }
    StatisticsReport report(query);
    for (const Rollup::Row& row : rollup.Rows()) EXPECT_TRUE(report.Add(row.row));
    return report.Finish();
}

// A quantile of a day must be near the true one, however the values are spread.
TEST(SketchTest, QuantilesAreOffByAtMostOneThirtySecond) {
    std::mt19937_64 random(7);
    for (const double spread : {1.0, 3.0, 6.0}) {
        Sketch sketch;
        std::vector<std::uint64_t> values;
        std::lognormal_distribution<double> distribution(5, spread / 2);
        for (int i = 0; i < 20'000; ++i) {
            values.push_back(
                std::min<std::uint64_t>(std::uint64_t(distribution(random)), 1u << 31));
            sketch.Add(Duration(values.back()));
        }
        std::ranges::sort(values);
        for (const double quantile : {0.01, 0.5, 0.95, 0.99, 0.999}) {
            const double exact = double(values[std::size_t(quantile * double(values.size())) - 1]);
            EXPECT_NEAR(*sketch.Quantile(quantile), exact, exact / 31 + 1) << quantile;
        }
        EXPECT_EQ(sketch.max_ms(), values.back());
    }
}

TEST(SketchTest, TakesAnythingAndKnowsWhenItIsEmpty) {
    Sketch sketch;
    EXPECT_FALSE(sketch.Quantile(0.5));
    EXPECT_FALSE(sketch.Mean());
    sketch.Add(Duration(-5));
    sketch.Add(std::chrono::hours(24 * 365));
    EXPECT_EQ(sketch.Quantile(0.5), 0);
    EXPECT_EQ(Sketch::BucketOf(UINT64_MAX), Sketch::kBuckets - 1);
    for (std::uint64_t value = 0; value < 5'000; ++value) {
        EXPECT_NEAR(Sketch::MiddleOf(Sketch::BucketOf(value)), double(value),
                    double(value) / 32 + 0.5);
    }
}

TEST(RollupTest, CountsByHourTaskTypeAndWorker) {
    Rollup rollup;
    rollup.Add(RowOf({}));
    rollup.Add(RowOf({.status = Status::kFailed, .ran = 300ms, .failures = 3}));
    rollup.Add(RowOf({.type = "mail", .worker = "w-2", .origin = Origin::kOnce, .at = kNoon + 1h}));
    rollup.Add(RowOf({.worker = "", .status = Status::kCancelled}));
    rollup.Add(RowOf({.worker = "", .status = Status::kSkipped, .reason = Reason::kSkipped}));
    rollup.Add(RowOf({.worker = "",
                      .status = Status::kSkipped,
                      .reason = Reason::kMissed,
                      .message = "12 due times up to 2026 passed while nobody could fire them"}));
    rollup.Add(RowOf({.worker = "",
                      .status = Status::kSkipped,
                      .reason = Reason::kPaused,
                      .message = "3 due times up to 2026 passed while the task was paused"}));

    const auto tasks = Lines(rollup, {.by = ReportBy::kTask});
    ASSERT_EQ(tasks.size(), 2u);
    const StatisticsCell& nightly = *tasks[0].cell;
    EXPECT_EQ(tasks[0].key, "nightly");
    EXPECT_EQ(nightly.name, "Nightly");
    EXPECT_EQ(nightly.success, 1u);
    EXPECT_EQ(nightly.failed, 1u);
    EXPECT_EQ(nightly.cancelled, 1u);
    EXPECT_EQ(nightly.skipped, 1u);
    EXPECT_EQ(nightly.missed, 12u + 3u);
    EXPECT_EQ(nightly.retries, 2u) << "the last failure was not repeated";
    EXPECT_EQ(nightly.success_rate(), 0.5);
    EXPECT_EQ(nightly.duration.max_ms(), 300u);
    EXPECT_EQ(nightly.duration.Mean(), 200);
    EXPECT_EQ(tasks[1].key, "once:Nightly") << "one-off tasks by their name";

    const auto hours = Lines(rollup, {.by = ReportBy::kHour});
    ASSERT_EQ(hours.size(), 2u);
    EXPECT_EQ(hours[0].key, "2026-11-15T12:00:00.000Z");
    EXPECT_EQ(hours[1].cell->total(), 1u);
    EXPECT_EQ(Lines(rollup, {.by = ReportBy::kDay}).size(), 1u);
    EXPECT_EQ(Lines(rollup, {.by = ReportBy::kType}).size(), 2u);
    EXPECT_EQ(Lines(rollup, {.by = ReportBy::kWorker}).size(), 2u);
    const auto of_type = Lines(rollup, {.by = ReportBy::kTask, .type = "mail"});
    ASSERT_EQ(of_type.size(), 1u);
    EXPECT_EQ(of_type[0].key, "once:Nightly");
    const auto of_task = Lines(rollup, {.by = ReportBy::kDay, .task = "nightly"});
    ASSERT_EQ(of_task.size(), 1u);
    EXPECT_EQ(of_task[0].cell->total(), 19u);
}

// Half a day passed under one leader, the rest under another.
// An attempt failed after 100 ms; an hour later, before the next one, somebody cancelled it.
TEST(RollupTest, TheDurationOfOneThatEndedBetweenAttemptsIsThatOfItsLastAttempt) {
    Execution row = RowOf({.status = Status::kFailed, .failures = 1});
    row.attempt = 1;
    row.outcome = RememberAttempt(row, {.end = AttemptEnd::kFailed, .at = row.finished_at});
    row.status = Status::kCancelled;
    row.finished_at += 1h;
    row.ready_at = row.finished_at + 1h;
    Rollup rollup;
    rollup.Add(row);
    // Run again, and cancelled before it had a worker: no attempt, no duration.
    row.worker = {};
    rollup.Add(row);

    const auto tasks = Lines(rollup, {.by = ReportBy::kTask});
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].cell->cancelled, 2u);
    EXPECT_EQ(tasks[0].cell->duration.max_ms(), 100u);
    EXPECT_EQ(tasks[0].cell->duration.count(), 1u);
    EXPECT_EQ(tasks[0].cell->wait.count(), 0u);
}

TEST(RollupTest, ANewLeaderAddsToWhatTheOldOneWrote) {
    Rollup first;
    for (int i = 0; i < 10; ++i) first.Add(RowOf({.ran = 10ms}));
    EXPECT_EQ(first.TakeNew(), std::vector<Day>{kDay});
    EXPECT_TRUE(first.TakeChanged().empty()) << "not before it is loaded";
    ASSERT_TRUE(first.Load(kDay, {}));
    const auto stored = first.TakeChanged();
    EXPECT_EQ(stored.size(), kDimensionCount);
    EXPECT_TRUE(first.TakeChanged().empty()) << "nothing has changed since";

    Rollup second;
    for (int i = 0; i < 30; ++i) second.Add(RowOf({.ran = 1000ms}));
    ASSERT_TRUE(second.Load(kDay, stored));
    const auto lines = Lines(second, {.by = ReportBy::kTask});
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].cell->success, 40u);
    EXPECT_NEAR(*lines[0].cell->duration.Quantile(0.5), 1000, 32);
    EXPECT_NEAR(*lines[0].cell->duration.Quantile(0.2), 10, 1);
    const auto rows = second.TakeChanged();
    ASSERT_EQ(rows.size(), kDimensionCount);
    second.PutBack({rows[0]});
    EXPECT_EQ(second.TakeChanged().size(), 1u) << "what the store did not take is taken again";
}

TEST(RollupTest, ABrokenRowIsSaidAndLeftOut) {
    Rollup rollup;
    rollup.Add(RowOf({}));
    rollup.TakeNew();
    EXPECT_FALSE(rollup.Load(kDay, {{Text(StatisticsKey(kDay, Dimension::kTask)), "\xff\xff"}}));
    EXPECT_EQ(Lines(rollup, {.by = ReportBy::kTask})[0].cell->success, 1u);
}

// A million names, for example an id in each of them.
TEST(RollupTest, TooManyNamesShareOneCell) {
    Rollup rollup;
    for (int i = 0; i < 5'000; ++i) {
        rollup.Add(RowOf({.name = "job-" + std::to_string(i),
                          .type = "t" + std::to_string(i % 100),
                          .worker = "w" + std::to_string(i % 1'000),
                          .origin = Origin::kOnce}));
    }
    std::uint64_t total = 0;
    std::size_t bytes = 0;
    const auto tasks = Lines(rollup, {.by = ReportBy::kTask});
    for (const ReportLine& line : tasks) total += line.cell->total();
    EXPECT_EQ(total, 5'000u) << "nothing is left out";
    EXPECT_EQ(tasks.size(), PlacesOf(Dimension::kTask).once_max + 1);
    EXPECT_EQ(tasks[0].key, kOtherKey);
    EXPECT_EQ(tasks[0].cell->name, "") << "nobody's name stands for all of them";
    EXPECT_EQ(tasks[0].cell->type, "");
    for (const Rollup::Row& row : rollup.Rows()) bytes += row.row.value.size();
    EXPECT_LT(bytes, 100'000u) << "a day stays small";
}

// Somebody submits a name with a number in it all night; in the morning the reports run.
TEST(RollupTest, OneOffTasksDoNotTakeThePlacesOfRecurringOnes) {
    Rollup rollup;
    for (int i = 0; i < 2'000; ++i) {
        rollup.Add(RowOf({.name = "job-" + std::to_string(i), .origin = Origin::kOnce}));
    }
    for (int i = 0; i < 100; ++i) {
        const std::string id = "report-" + std::to_string(i);
        for (int runs = 0; runs < 3; ++runs) rollup.Add(RowOf({.task = id, .name = id}));
    }
    const auto tasks = Lines(rollup, {.by = ReportBy::kTask});
    EXPECT_EQ(std::ranges::count_if(tasks,
                                    [](const ReportLine& line) {
                                        return line.key.view().starts_with("report-") &&
                                               line.cell->total() == 3;
                                    }),
              100);
}

// Over a month it is other names every day.
TEST(ReportTest, OneOffTasksDoNotTakeTheLinesOfRecurringOnes) {
    StatisticsReport report({.by = ReportBy::kTask, .from = kNoon - 24h * 30, .to = kNoon + 48h});
    for (int day = 0; day < 30; ++day) {
        Rollup rollup;
        const Time at = kNoon - 24h * (29 - day);
        for (int i = 0; i < 100; ++i) {
            const std::string number = std::to_string(day) + "-" + std::to_string(i);
            rollup.Add(RowOf({.name = "job-" + number, .origin = Origin::kOnce, .at = at}));
        }
        if (day == 29) rollup.Add(RowOf({.at = at}));
        for (const Rollup::Row& row : rollup.Rows()) ASSERT_TRUE(report.Add(row.row));
    }
    const auto lines = report.Finish();
    EXPECT_LE(lines.size(), kReportLinesMax + 1);
    EXPECT_EQ(std::ranges::count(lines, "nightly", &ReportLine::key), 1);
    const auto other =
        std::ranges::find(lines, kOtherKey, [](const auto& line) { return line.key.view(); });
    ASSERT_TRUE(other != lines.end());
    EXPECT_EQ(other->cell->name, "");
}

// An earlier version kept 100 names of any kind, and gave "(other)" the name of one of them.
TEST(RollupTest, ADayOfAnEarlierVersionIsGoneOnWith) {
    StatisticsTable old({.cells_max = 101});
    for (int i = 0; i < 100; ++i) {
        StatisticsCell& cell = old.At(Text("once:job-" + std::to_string(i)));
        cell.name = Text("job-" + std::to_string(i));
        cell.success = 1;
    }
    StatisticsCell& other = old.At(Text(kOtherKey));
    other.name = "A stranger";
    other.type = "report";
    other.success = 7;

    Rollup rollup;
    rollup.Add(RowOf({}));
    const SettingPut row{Text(StatisticsKey(kDay, Dimension::kTask)), Text(old.Encode())};
    ASSERT_TRUE(rollup.Load(kDay, {row}));

    const auto tasks = Lines(rollup, {.by = ReportBy::kTask});
    EXPECT_EQ(tasks.size(), 102u) << "all of them, and the one of today";
    EXPECT_EQ(tasks[0].key, kOtherKey);
    EXPECT_EQ(tasks[0].cell->total(), 7u);
    EXPECT_EQ(tasks[0].cell->name, "");
    EXPECT_EQ(tasks[0].cell->type, "");
}

TEST(RollupTest, DaysThatAreOverAndWrittenAreLetGo) {
    Rollup rollup;
    rollup.Add(RowOf({.at = kNoon - 24h}));
    rollup.Add(RowOf({}));
    for (const Day day : rollup.TakeNew()) ASSERT_TRUE(rollup.Load(day, {}));
    rollup.Forget(kDay);
    EXPECT_EQ(rollup.Rows().size(), 2 * kDimensionCount) << "yesterday is not written yet";
    rollup.TakeChanged();
    rollup.Forget(kDay);
    EXPECT_EQ(rollup.Rows().size(), kDimensionCount);
    rollup.Add(RowOf({}));
    EXPECT_EQ(Lines(rollup, {.by = ReportBy::kTask})[0].cell->success, 2u);
}

TEST(ReportTest, RefusesWhatTheTablesCannotAnswer) {
    const auto field = [](ReportQuery query) {
        query.from = kNoon - 1h;
        if (query.to == Time{}) query.to = kNoon;
        const auto checked = CheckReport(query);
        return checked ? std::string() : checked.error().field;
    };
    EXPECT_EQ(field({.by = ReportBy::kDay, .task = "t"}), "");
    EXPECT_EQ(field({.by = ReportBy::kTask, .type = "t"}), "");
    EXPECT_EQ(field({.by = ReportBy::kHour, .task = "t"}), "task_id");
    EXPECT_EQ(field({.by = ReportBy::kWorker, .type = "t"}), "type");
    EXPECT_EQ(field({.by = ReportBy::kDay, .task = "t", .type = "t"}), "type");
    EXPECT_EQ(field({.to = kNoon - 2h}), "to");
}

// A year by the hour: the newest hours, for which somebody asks, must not be lumped together.
TEST(ReportTest, RangesWithTooManyLinesAreRefused) {
    const auto field = [](ReportBy by, Duration length) {
        const auto checked = CheckReport({.by = by, .from = kNoon - length, .to = kNoon});
        return checked ? std::string() : checked.error().field;
    };
    EXPECT_EQ(field(ReportBy::kHour, 1000h), "");
    EXPECT_EQ(field(ReportBy::kHour, 1000h + 1ms), "from") << "touches one hour more";
    EXPECT_EQ(field(ReportBy::kDay, 24h * 999), "");
    EXPECT_EQ(field(ReportBy::kDay, 24h * 1000), "from") << "noon to noon touches one day more";
    EXPECT_EQ(field(ReportBy::kTask, 24h * 10'000), "") << "as many lines as there are tasks";

    const auto checked = CheckReport({.by = ReportBy::kHour, .from = kNoon - 8760h, .to = kNoon});
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().detail,
              "from is too early: by=hour that would be 8760 lines, and at most 1000 are given; "
              "choose a later from, or by=day");
}

// Somebody names a task so that a spreadsheet runs it.
TEST(CsvTest, NoCellIsAFormula) {
    EXPECT_EQ(CsvCell("plain"), "plain");
    EXPECT_EQ(CsvCell("=cmd|' /C calc'!A0"), "\"'=cmd|' /C calc'!A0\"");
    EXPECT_EQ(CsvCell("+1"), "\"'+1\"");
    EXPECT_EQ(CsvCell("-1"), "\"'-1\"");
    EXPECT_EQ(CsvCell("@x"), "\"'@x\"");
    EXPECT_EQ(CsvCell("\tx"), "\"'\tx\"");
    EXPECT_EQ(CsvCell("\rx"), "\"'\rx\"");
    EXPECT_EQ(CsvCell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

TEST(CsvTest, EveryLineHasAsManyCellsAsTheHead) {
    Rollup rollup;
    rollup.Add(RowOf({.name = "=1+1"}));
    rollup.Add(RowOf({.task = "other", .worker = "", .status = Status::kCancelled}));
    const std::string csv = ReportCsv(ReportBy::kTask, Lines(rollup, {.by = ReportBy::kTask}));
    EXPECT_NE(csv.find("nightly,\"'=1+1\",1,1,0,0,0,0,0,1.0000,100.0,"), std::string::npos) << csv;
    std::size_t begin = 0;
    int lines = 0;
    for (std::size_t end = csv.find("\r\n"); end != csv.npos; end = csv.find("\r\n", begin)) {
        const std::string line = csv.substr(begin, end - begin);
        EXPECT_EQ(std::ranges::count(line, ','), 16) << line;
        begin = end + 2;
        ++lines;
    }
    EXPECT_EQ(lines, 3);
    EXPECT_EQ(begin, csv.size());
}

TEST(SeriesTest, KeepsTheLastHoursInSteps) {
    Series series;
    for (std::size_t i = 0; i < Series::kPointsMax + 10; ++i) {
        series.Submitted();
        series.Ran(5ms, 50ms);
        series.EndStep(kNoon + i * 10s, {.running = i, .pending = 2});
    }
    const auto all = series.Since(Time{});
    ASSERT_EQ(all.size(), Series::kPointsMax);
    EXPECT_EQ(all.back().submitted, 1u);
    EXPECT_EQ(all.back().pending, 2u);
    EXPECT_EQ(all.back().wait_p50, 5);
    EXPECT_EQ(series.Since(all.back().at).size(), 1u);
    series.EndStep(kNoon + 10h, {});
    EXPECT_FALSE(series.Since(kNoon + 10h)[0].run_p99) << "nothing ran";
}

}  // namespace
}  // namespace takt::internal
