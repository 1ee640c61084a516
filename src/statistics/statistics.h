// Statistics: counts, durations and waits of everything that ended, kept after the executions
// themselves are gone.
//
// The leader adds up what the node commits and writes it down as rows of settings every ten seconds and
// when it stops in order; the series and the history of queues, for charts, once a minute.
// What ended since then is lost in a crash; nothing is ever counted twice. A new leader goes on from
// the rows it finds.
//
// Runs on the node's thread; Bind it to its node before the node starts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "node/home.h"
#include "node/node.h"
#include "node/runtime.h"
#include "node/sink.h"
#include "statistics/queue_history.h"
#include "statistics/report.h"
#include "statistics/rollup.h"
#include "statistics/series.h"
#include "store/partition_reader.h"

namespace takt::internal {

struct StatisticsConfig {
    Duration flush_interval{10'000};
    Duration step{10'000};                        // Of the series.
    Duration queue_step{60'000};                  // Of the history of queues.
    Duration keep_series{60'000};                 // Between two writings of it.
    Duration keep{std::chrono::hours(24 * 400)};  // Older days are deleted.
};

class Statistics final : public Sink {
  public:
    // The runtime and the store must outlive it.
    Statistics(Runtime& runtime, PartitionReader rows, StatisticsConfig config);
    ~Statistics() override;
    void Bind(Node& node) { node_ = &node; }

    // Sink. On the node's thread.
    void OnCommit(const Committed& committed) override;
    void Release(const Effects& effects) override;
    void OnRole(Role role) override;

    // From any thread: writes down what there is now. `done` comes on the node's thread when the
    // store has it, or could not be given it; at once while this node does not lead.
    void Flush(Action done);

    // From any thread. `done` comes on any thread. kUnavailable if the store cannot be read.
    void Ask(ReportQuery query, Done<std::vector<ReportLine>> done);
    // From any thread. `done` comes on the node's thread.
    void AskSeries(Duration back, std::move_only_function<void(std::vector<SeriesPoint>)> done);

    struct QueueAnswer {
        std::vector<QueuePoint> points;
        bool kept = false;  // False: too many queues are at work.
    };
    // The same of one queue.
    void AskQueue(Text queue, Duration back, std::move_only_function<void(QueueAnswer)> done);

    const StatisticsConfig& config() const { return config_; }

  private:
    void Write(Action done);
    void LoadNew();
    void LoadDay(Day day, Action then);
    void TakeDay(Day day, const Result<std::vector<SettingPut>>& rows);
    void DeleteOld();
    void EndStep(const Engine& engine);
    // The series of an earlier leader goes on in this one.
    Flow<> TakeSeries(Stay term);
    void KeepSeries();
    void StepLater();
    void FlushLater();

    Runtime& runtime_;
    const PartitionReader rows_;
    const StatisticsConfig config_;
    Node* node_ = nullptr;
    Rollup rollup_;
    Series series_;
    QueueHistory queues_;
    Time queue_step_end_{};  // When the last step of the queues' history ended.
    bool leading_ = false;
    std::uint64_t flush_timer_ = 0;
    std::uint64_t step_timer_ = 0;
    bool series_taken_ = false;
    std::set<Time> series_rows_;  // When those begin that the store has.
    Time series_kept_{};          // The time of the last point that was written.
    Day cleaned_{};               // The day on which old ones were last deleted.
    Home home_{runtime_};         // Its terms are those that this node leads in.
};

}  // namespace takt::internal
