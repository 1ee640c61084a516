#include "cli/bench_ledger.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace takt::internal::cli {
namespace {

// Phase, number and time, each with leading zeros, as long as the widest may be.
constexpr std::size_t kPhaseDigits = 4;
constexpr std::size_t kNumberDigits = 10;
constexpr std::size_t kTimeDigits = 16;
static_assert(kPhaseDigits + kNumberDigits + kTimeDigits <= kBenchPayloadMin);

template <typename Number>
bool ReadDigits(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::int64_t SteadyMicroseconds() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string BenchPayload(const BenchTask& task, std::size_t bytes) {
    std::string text;
    text.reserve(bytes + 2);
    text = fmt::format("\"{:04}{:010}{:016}", task.phase, task.number, task.sent_us);
    text.resize(bytes + 1, 'x');
    text += '"';
    return text;
}

std::optional<BenchTask> ReadBenchPayload(std::string_view payload) {
    if (payload.size() < kBenchPayloadMin + 2 || payload.front() != '"') return std::nullopt;
    payload.remove_prefix(1);
    BenchTask task;
    const bool all =
        ReadDigits(payload.substr(0, kPhaseDigits), task.phase) &&
        ReadDigits(payload.substr(kPhaseDigits, kNumberDigits), task.number) &&
        ReadDigits(payload.substr(kPhaseDigits + kNumberDigits, kTimeDigits), task.sent_us) &&
        task.number < kBenchTasksMax;
    return all ? std::optional(task) : std::nullopt;
}

bool BenchLedger::Began(std::string_view payload) {
    const auto task = ReadBenchPayload(payload);
    if (!task) return false;
    const std::int64_t now = task->sent_us > 0 ? SteadyMicroseconds() : 0;
    const std::lock_guard lock(mutex_);
    Phase& phase = phases_[task->phase];
    if (phase.seen.size() <= task->number) phase.seen.resize(2 * task->number + 1);
    if (phase.seen[task->number]) {
        ++phase.tally.twice;
        return true;
    }
    phase.seen[task->number] = true;
    ++phase.tally.distinct;
    if (task->sent_us > 0) phase.tally.latencies_us.push_back(now - task->sent_us);
    return true;
}

BenchTally BenchLedger::Read(std::size_t phase) const {
    const std::lock_guard lock(mutex_);
    const auto found = phases_.find(phase);
    return found == phases_.end() ? BenchTally{} : found->second.tally;
}

}  // namespace takt::internal::cli
