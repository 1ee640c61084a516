#include "statistics/statistics.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/log.h"

namespace takt::internal {
namespace {

// Days stay in memory this long after they are over: a late end still finds its day.
constexpr std::chrono::days kDaysInMemory{1};

// Rows deleted at a time; what is left goes on tomorrow. Four rows a day, so this is months.
constexpr std::size_t kDeletesMax = 1000;

// The longest beginning that the keys of all these days share.
std::string PrefixOf(Day first, Day last) {
    const std::string a = DayText(first);
    const std::string b = DayText(last);
    const auto [end, other] = std::ranges::mismatch(a, b);
    return std::string(kStatisticsPrefix) + std::string(a.begin(), end);
}

// The series is kept in rows of ten minutes each, so that what is written again and again is small.
constexpr std::string_view kSeriesPrefix = "series/";
constexpr Duration kSeriesRow = std::chrono::minutes(10);
constexpr Duration kSeriesKept = std::chrono::hours(6);
// Beyond what is kept, as a clock that is set makes rows of other times.
constexpr std::size_t kSeriesRowsMax = 2 * kSeriesKept / kSeriesRow;

Time RowBegin(Time at) {
    return at - at.time_since_epoch() % kSeriesRow;
}

Text SeriesKey(Time begin) {
    return Text(std::string(kSeriesPrefix) + FormatTime(begin));
}

bool IsIdle(const SeriesPoint& point) {
    return point.submitted + point.completed + point.failed + point.retries + point.running +
               point.pending ==
           0;
}

}  // namespace

Statistics::Statistics(Runtime& runtime, PartitionReader rows, StatisticsConfig config)
    : runtime_(runtime), rows_(rows), config_(config) {}

Statistics::~Statistics() {
    runtime_.Cancel(flush_timer_);
    runtime_.Cancel(step_timer_);
}

void Statistics::OnCommit(const Committed& committed) {
    for (const Change& change : committed.changes) {
        const auto* execution = std::get_if<ExecutionChange>(&change);
        if (!execution || execution->after != Place::kHistory) continue;
        const Execution& row = execution->row;
        rollup_.Add(row);
        queues_.Ended(row);
        if (row.started_at != Time{}) {
            series_.Ran(row.started_at - row.ready_at, row.finished_at - row.started_at);
        }
    }
}

void Statistics::Release(const Effects& effects) {
    for (const Event& event : effects.events) {
        switch (event.type) {
            case EventType::kTaskSubmitted:
                series_.Submitted();
                break;
            case EventType::kTaskCompleted:
                series_.Completed();
                break;
            case EventType::kTaskFailed:
                series_.Failed();
                break;
            case EventType::kTaskRetrying:
                series_.Retried();
                break;
            default:
                break;
        }
    }
}

void Statistics::OnRole(Role role) {
    const bool leads = role == Role::kLeader;
    if (leads == leading_) return;
    leading_ = leads;
    home_.NextTerm();
    runtime_.Cancel(std::exchange(flush_timer_, 0));
    runtime_.Cancel(std::exchange(step_timer_, 0));
    // Another leader goes on from the rows; what is here would be older than theirs.
    rollup_.Clear();
    series_.Clear();
    queues_.Clear();
    queue_step_end_ = {};
    series_rows_.clear();
    series_taken_ = false;
    series_kept_ = {};
    cleaned_ = {};
    if (!leads) return;
    Launch(TakeSeries(home_.term()));
    FlushLater();
    StepLater();
}

void Statistics::StepLater() {
    step_timer_ = runtime_.After(config_.step, [this] {
        step_timer_ = 0;
        node_->Look(home_.term().Guard([this](const Engine* engine) {
            if (engine) EndStep(*engine);
        }));
        StepLater();
    });
}

void Statistics::EndStep(const Engine& engine) {
    const Time now = runtime_.Now().wall;
    const auto count = [&](Status status) { return engine.count(status); };
    series_.EndStep(now, {.running = count(Status::kScheduled) + count(Status::kRunning),
                          .pending = count(Status::kPending) + count(Status::kRetrying)});
    std::vector<QueueHistory::Depth> depths;
    for (const QueueView& queue : engine.Queues()) {
        const bool ready = queue.oldest_ready != Time{};
        depths.push_back({.queue = queue.name,
                          .waiting = queue.waiting,
                          .working = queue.working,
                          .oldest_wait = ready ? now - queue.oldest_ready : Duration(0)});
    }
    queues_.Look(std::move(depths));
    // A clock that was set back does not end the history.
    if (now - queue_step_end_ >= config_.queue_step || now < queue_step_end_) {
        // The first step is as long as the others.
        if (std::exchange(queue_step_end_, now) != Time{}) queues_.EndStep(now);
    }
    if (now - series_kept_ >= config_.keep_series) KeepSeries();
}

Flow<> Statistics::TakeSeries(Stay term) {
    const auto rows = co_await term.Wait<Result<std::vector<SettingPut>>>(
        [&](auto done) { rows_.ListSettings(Text(kSeriesPrefix), std::move(done)); });
    series_taken_ = true;
    // Charts begin anew without it; that the store is away others say.
    if (!rows) co_return;
    const Time since = runtime_.Now().wall - kSeriesKept;
    std::vector<SeriesPoint> points;
    QueuePoints queues;
    std::vector<Input> old;
    for (const SettingPut& row : *rows) {
        const auto begin = ParseTime(row.key.view().substr(kSeriesPrefix.size()));
        if (!begin || *begin + kSeriesRow < since) {
            old.push_back(SetSetting{.key = row.key});
            continue;
        }
        series_rows_.insert(*begin);
        std::ranges::move(DecodePoints(row.value), std::back_inserter(points));
        DecodeQueues(row.value, queues);
    }
    const auto in_order = [&]<typename Point>(std::vector<Point>& some) {
        std::ranges::sort(some, {}, &Point::at);
        std::erase_if(some, [&](const Point& point) { return point.at < since; });
    };
    in_order(points);
    for (auto& [queue, its_points] : queues) in_order(its_points);
    series_.Prepend(points);
    queues_.Prepend(queues);
    if (!old.empty()) node_->Tell(std::move(old));
}

// The row of now and, if it was not written since, the one before. Rows that grew old are deleted,
// also while nothing happens that would be written.
void Statistics::KeepSeries() {
    if (!series_taken_) return;
    const Time now = runtime_.Now().wall;
    const Time from = RowBegin(std::max(series_kept_, now - kSeriesRow));
    std::map<Time, std::vector<SeriesPoint>> rows;
    bool busy = false;
    for (const SeriesPoint& point : series_.Since(from)) {
        busy |= point.at > series_kept_ && !IsIdle(point);
        rows[RowBegin(point.at)].push_back(point);
    }
    std::map<Time, QueuePoints> queue_rows;
    for (const auto& [queue, points] : queues_.Since(from)) {
        for (const QueuePoint& point : points) {
            // Its steps are longer, and may end when all is quiet again.
            busy |= point.at > series_kept_;
            queue_rows[RowBegin(point.at)][queue].push_back(point);
        }
    }
    series_kept_ = now;
    if (!busy) rows.clear();
    std::vector<Input> puts;
    for (const auto& [begin, points] : rows) {
        puts.push_back(
            SetSetting{.key = SeriesKey(begin),
                       .value = Text(EncodePoints(points) + EncodeQueues(queue_rows[begin]))});
        series_rows_.insert(begin);
    }
    while (!series_rows_.empty() && (*series_rows_.begin() + kSeriesRow < now - kSeriesKept ||
                                     series_rows_.size() > kSeriesRowsMax)) {
        puts.push_back(SetSetting{.key = SeriesKey(*series_rows_.begin())});
        series_rows_.erase(series_rows_.begin());
    }
    if (!puts.empty()) node_->Tell(std::move(puts));
}

void Statistics::FlushLater() {
    flush_timer_ = runtime_.After(config_.flush_interval, [this] {
        flush_timer_ = 0;
        const Day today = std::chrono::floor<std::chrono::days>(runtime_.Now().wall);
        LoadNew();
        Write([] {});
        rollup_.Forget(today - kDaysInMemory);
        if (std::exchange(cleaned_, today) != today) DeleteOld();
        FlushLater();
    });
}

// A day is added to what the store has of it before it is written: an earlier leader, or this node
// in an earlier term, may have written it too.
void Statistics::LoadNew() {
    for (const Day day : rollup_.TakeNew()) LoadDay(day, [] {});
}

void Statistics::LoadDay(Day day, Action then) {
    const Text prefix(std::string(kStatisticsPrefix) + DayText(day) + "/");
    rows_.ListSettings(prefix, [this, &runtime = runtime_, day, term = home_.term(),
                                then = std::move(then)](auto rows) mutable {
        runtime.Post([this, day, term, then = std::move(then), rows = std::move(rows)]() mutable {
            if (term.holds()) TakeDay(day, rows);
            then();
        });
    });
}

void Statistics::TakeDay(Day day, const Result<std::vector<SettingPut>>& rows) {
    if (rows) {
        if (auto loaded = rollup_.Load(day, *rows); !loaded) {
            Log(LogLevel::kError, "statistics", "part of a day is lost",
                {{"day", DayText(day)}, {"error", loaded.error().detail}});
        }
        return;
    }
    Log(LogLevel::kWarning, "statistics", "cannot read a day, trying again",
        {{"day", DayText(day)}, {"error", rows.error().detail}});
    home_.term().After(config_.flush_interval, [this, day] { LoadDay(day, [] {}); });
}

void Statistics::Write(Action done) {
    auto rows = std::make_shared<std::vector<SettingPut>>(rollup_.TakeChanged());
    if (rows->empty()) return done();
    struct Pending {
        std::size_t left;
        Action done;
    };
    auto pending = std::make_shared<Pending>(rows->size(), std::move(done));
    for (const SettingPut& row : *rows) {
        node_->Ask(SetSetting{.key = row.key, .value = row.value},
                   [this, pending, key = row.key, term = home_.term()](Result<Answer> answer) {
                       // The next flush writes it again, whole.
                       if (!answer && term.holds()) {
                           rollup_.PutBack({{key, {}}});
                       }
                       if (--pending->left == 0) pending->done();
                   });
    }
}

void Statistics::Flush(Action done) {
    runtime_.Post([this, done = std::move(done), stay = home_.stay()]() mutable {
        if (!stay.holds() || !leading_) return done();
        KeepSeries();
        // A day must be loaded before it is written; what could not be loaded is not.
        const std::vector<Day> days = rollup_.TakeNew();
        if (days.empty()) return Write(std::move(done));
        auto left = std::make_shared<std::size_t>(days.size());
        auto last = std::make_shared<Action>(std::move(done));
        for (const Day day : days) {
            LoadDay(day, [this, stay, left, last] {
                if (--*left > 0) return;
                stay.holds() ? Write(std::move(*last)) : (*last)();
            });
        }
    });
}

// Keys of days that retention does not keep are deleted, a bounded number at a time.
void Statistics::DeleteOld() {
    const Day before = std::chrono::floor<std::chrono::days>(runtime_.Now().wall - config_.keep);
    rows_.ListSettings(Text(kStatisticsPrefix), home_.term().Here([this, before](auto rows) {
        std::vector<Input> deletes;
        if (!rows) return;  // Tomorrow is another day.
        for (const SettingPut& row : *rows) {
            const auto parts = ParseStatisticsKey(row.key);
            if (!parts || parts->day >= before || deletes.size() >= kDeletesMax) continue;
            deletes.push_back(SetSetting{.key = row.key});
        }
        if (!deletes.empty()) node_->Tell(std::move(deletes));
    }));
}

void Statistics::Ask(ReportQuery query, Done<std::vector<ReportLine>> done) {
    if (auto checked = CheckReport(query); !checked) return done(std::unexpected(checked.error()));
    runtime_.Post(
        [this, query = std::move(query), done = std::move(done), stay = home_.stay()]() mutable {
            if (!stay.holds())
                return done(Fail(ErrorCode::kCancelled, "the scheduler is stopping"));
            // The days in memory first: a day that leaves it afterwards is in the store by then.
            auto live = rollup_.Rows();
            const auto day = [](Time time) { return std::chrono::floor<std::chrono::days>(time); };
            const Text prefix(PrefixOf(day(query.from), day(query.to - Duration(1))));
            rows_.ListSettings(prefix, [query = std::move(query), live = std::move(live),
                                        done = std::move(done)](auto rows) mutable {
                if (!rows) return done(std::unexpected(rows.error()));
                StatisticsReport report(std::move(query));
                Result<void> added;
                const auto add = [&](const SettingPut& row) {
                    if (auto one = report.Add(row); !one) added = one;
                };
                for (const SettingPut& row : *rows) {
                    const bool replaced = std::ranges::any_of(live, [&](const Rollup::Row& known) {
                        return known.whole && known.row.key == row.key;
                    });
                    if (!replaced) add(row);
                }
                for (const Rollup::Row& known : live) add(known.row);
                if (!added) {
                    Log(LogLevel::kError, "statistics", "a stored row is left out of a report",
                        {{"error", added.error().detail}});
                }
                done(report.Finish());
            });
        });
}

void Statistics::AskSeries(Duration back,
                           std::move_only_function<void(std::vector<SeriesPoint>)> done) {
    runtime_.Post([this, back, done = std::move(done), stay = home_.stay()]() mutable {
        if (!stay.holds()) return done({});
        done(series_.Since(runtime_.Now().wall - back));
    });
}

void Statistics::AskQueue(Text queue, Duration back,
                          std::move_only_function<void(QueueAnswer)> done) {
    runtime_.Post([this, queue = std::move(queue), back, done = std::move(done),
                   stay = home_.stay()]() mutable {
        if (!stay.holds()) return done({});
        done({.points = queues_.Since(queue, runtime_.Now().wall - back),
              .kept = queues_.Keeps(queue)});
    });
}

}  // namespace takt::internal
