// News, starts and results, gathered into frames: everything that came together since the socket
// was last free goes out at once, and nothing waits for company.
#include <algorithm>
#include <utility>

#include "wire/zstd.h"
#include "worker/worker_core.h"

namespace takt::internal {
namespace {

// A socket with this much before it is busy; what is added now would only wait there, out of reach
// of later news that could take its place.
constexpr std::size_t kBusyBytes = 1 << 20;
constexpr Duration kBusyWait{2};

void Fill(worker::v1::Attempt& out, const Held& held) {
    out.set_execution_id(held.task.execution_id);
    out.set_attempt(held.task.attempt);
    out.set_token(held.token);
}

// Bytes of an attempt's name in a frame, about.
constexpr std::size_t kAttemptBytes = 100;

// Of one attempt's log before the next attempt has its turn.
constexpr std::size_t kNewsTurnBytes = 64 << 10;

}  // namespace

bool WorkerCore::SendFrame() {
    bytes_.clear();
    if (!frame_.SerializeToString(&bytes_) || !connector_.Send(bytes_)) {
        connector_.Drop("the scheduler does not take what is sent");
        return false;
    }
    return true;
}

void WorkerCore::Flush() {
    const auto due = [this] {
        return !started_due_.empty() || !results_due_.empty() || !suspects_due_.empty() ||
               !news_due_.empty() || !lock_asks_due_.empty() || !lock_drops_due_.empty() ||
               !fetches_due_.empty();
    };
    while (welcomed_ && due()) {
        if (connector_.queued_bytes() > kBusyBytes) {
            if (std::exchange(flush_waits_, true)) return;
            flush_timer_.expires_after(kBusyWait);
            return flush_timer_.async_wait(
                life_.Guard([this](const boost::system::error_code& error) {
                    flush_waits_ = false;
                    if (!error) Flush();
                }));
        }
        frame_.Clear();
        std::size_t bytes = 0;
        FillNews(bytes);
        FillStarted(bytes);
        FillLocks(bytes);
        FillFetches(bytes);
        FillResults(bytes);
        // A result that is left waits for an acknowledgement.
        if (frame_.ByteSizeLong() == 0 || !SendFrame()) return;
    }
}

// At most half of a frame: however much handlers say, results go out beside it.
void WorkerCore::FillNews(std::size_t& bytes) {
    const std::size_t bytes_max = std::max<std::size_t>(1, options_.frame_bytes_max / 2);
    Held::News news;
    while (!news_due_.empty() && bytes < bytes_max) {
        HeldPtr due = std::move(news_due_.front());
        news_due_.pop_front();
        Held& held = *due;
        held.news_due = !mailbox_->TakeNews(held, kNewsTurnBytes, news);
        if (news.progressed) {
            worker::v1::Progress& out = *frame_.add_progress();
            Fill(*out.mutable_attempt(), held);
            out.set_fraction(news.fraction);
            out.set_message(std::move(news.message));
            bytes += kAttemptBytes + out.message().size();
        }
        if (!news.lines.empty()) {
            worker::v1::Log& out = *frame_.add_logs();
            Fill(*out.mutable_attempt(), held);
            for (std::string& line : news.lines) {
                bytes += line.size() + 4;
                out.add_lines(std::move(line));
            }
            bytes += kAttemptBytes;
        }
        if (held.news_due) news_due_.push_back(std::move(due));
    }
}

void WorkerCore::FillStarted(std::size_t& bytes) {
    while (!started_due_.empty() && bytes < options_.frame_bytes_max) {
        const HeldPtr held = std::move(started_due_.front());
        started_due_.pop_front();
        // The result says it as well.
        if (!std::exchange(held->started_due, false)) continue;
        if (held->phase != Held::Phase::kRunning) continue;
        worker::v1::Started& out = *frame_.add_started();
        Fill(*out.mutable_attempt(), *held);
        out.set_ran_ms(static_cast<std::uint64_t>(held->RanFor(SteadyClock::now()).count()));
        bytes += kAttemptBytes;
    }
}

void WorkerCore::FillResults(std::size_t& bytes) {
    if (suspect_) return;
    if (!suspects_due_.empty()) {
        suspect_ = std::move(suspects_due_.front());
        suspects_due_.pop_front();
        return AddResult(*suspect_, bytes);
    }
    // Each is looked at once. A result is the last that is said of an attempt: its news go first.
    for (std::size_t left = results_due_.size(); left > 0 && bytes < options_.frame_bytes_max;
         --left) {
        HeldPtr held = std::move(results_due_.front());
        results_due_.pop_front();
        if (held->news_due) {
            results_due_.push_back(std::move(held));
        } else if (held->result_due) {
            AddResult(*held, bytes);
        }
    }
}

void WorkerCore::AddResult(Held& held, std::size_t& bytes) {
    held.result_due = false;
    held.result_sent = true;
    const TaskResult& result = held.result;
    worker::v1::Result& out = *frame_.add_results();
    Fill(*out.mutable_attempt(), held);
    out.set_success(result.success());
    out.set_final(result.final);
    out.set_code(result.code);
    out.set_message(result.message);
    out.set_ran_ms(static_cast<std::uint64_t>(held.ran.count()));
    const auto waited = std::chrono::duration_cast<Duration>(SteadyClock::now() - held.ended_at);
    out.set_ended_ms_ago(static_cast<std::uint64_t>(waited.count()));
    if (held.ended_by == StopReason::kTimeout) {
        out.set_reason("timeout");
    } else if (held.ended_by) {
        out.set_reason("cancelled");
    } else if (result.rejected) {
        out.set_reason("rejected");
    }
    if (options_.compression && result.data.size() >= options_.compress_bytes_min) {
        AppendZstd(*out.mutable_data_zstd(), result.data);
    } else {
        out.set_data(result.data);
    }
    bytes += kAttemptBytes + result.message.size() + result.data.size();
}

}  // namespace takt::internal
