#include "sim/log_checker.h"

#include <algorithm>
#include <sstream>

namespace takt::internal::sim {
namespace {

constexpr std::string_view kFull = "(the log is full";

}  // namespace

LogChecker::Key LogChecker::KeyOf(const AttemptRef& ref) {
    return {ref.execution.text().str(), ref.attempt, TokenText(ref.token).substr(0, 8)};
}

// "job-1 2 9f86d081 3 xxx": execution, attempt, token, number, and something to be long.
std::string LogChecker::Write(const AttemptRef& attempt, std::uint64_t number, std::size_t size) {
    const Key key = KeyOf(attempt);
    written_[key] = number;
    std::string line = std::get<0>(key) + " " + std::to_string(attempt.attempt) + " " +
                       std::get<2>(key) + " " + std::to_string(number) + " ";
    return line.append(std::max(size, line.size()) - line.size(), 'x') + "\n";
}

void LogChecker::OnCommit(const Batch& batch, const EngineConfig& config,
                          const std::function<bool(const ExecutionId&)>& again) {
    for (const Change& change : batch.changes) {
        const auto* move = std::get_if<ExecutionChange>(&change);
        // An id that was purged is free for something new.
        if (move && move->before == Place::kNone) logs_.erase(move->row.id);
    }
    for (const Change& change : batch.changes) {
        const auto* append = std::get_if<LogAppend>(&change);
        if (!append) continue;
        const ExecutionId& id = append->row.execution;
        Log& log = logs_[id];
        // Each leader counts for itself.
        if (std::exchange(log.nonce, batch.term.nonce) != batch.term.nonce) {
            log.bytes = 0;
            log.full = false;
        }
        log.again = log.again || again(id);
        TakeChunk(log, append->row);
        if (log.bytes > config.log_bytes_max && !log.again) {
            fail_("more is kept of the log of " + id.text().str() + " than its bound allows");
        }
    }
}

void LogChecker::TakeChunk(Log& log, const LogChunk& chunk) {
    if (!log.chunks.empty() && chunk.index <= log.chunks.back().index) {
        fail_("chunks of the log of " + chunk.execution.text().str() + " are not in order");
    }
    log.chunks.push_back(chunk);
    std::string_view rest = chunk.lines.view();
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos) {
            return fail_("the log of " + chunk.execution.text().str() + " has half a line");
        }
        TakeLine(log, chunk, rest.substr(0, end + 1));
        rest.remove_prefix(end + 1);
    }
}

void LogChecker::TakeLine(Log& log, const LogChunk& chunk, std::string_view line) {
    const std::string name = chunk.execution.text().str();
    if (line.starts_with("(")) {
        log.full = log.full || line.starts_with(kFull);
        return;
    }
    if (log.full && !log.again) fail_("the log of " + name + " goes on behind what was dropped");
    log.bytes += line.size();
    std::istringstream in{std::string(line)};
    std::string execution;
    std::uint32_t attempt = 0;
    std::string token;
    std::uint64_t number = 0;
    in >> execution >> attempt >> token >> number;
    if (execution != name || attempt != chunk.attempt) {
        fail_("the log of " + name + " has a line that another attempt wrote");
    }
    const Key key{execution, attempt, token};
    const auto written = written_.find(key);
    if (written == written_.end() || number > written->second) {
        fail_("the log of " + name + " has a line that nobody wrote");
    }
    std::set<std::uint64_t>& lines = log.lines[key];
    if (!lines.empty() && number <= *lines.rbegin()) {
        fail_("lines of the log of " + name + " are there twice, or not in order");
    }
    lines.insert(number);
}

void LogChecker::OnRelease(const Effects& effects) {
    for (const Verdict& verdict : effects.verdicts) {
        const Key key = KeyOf(verdict.attempt);
        const auto sent = sent_.find({verdict.session, key});
        if (!verdict.accepted || sent == sent_.end()) continue;
        const auto log = logs_.find(verdict.attempt.execution);
        if (log != logs_.end() && log->second.full) continue;
        for (const std::uint64_t number : sent->second) {
            if (log != logs_.end() && log->second.lines[key].contains(number)) continue;
            fail_("a result of " + std::get<0>(key) +
                  " was accepted without a line that was sent before it");
        }
    }
}

void LogChecker::Recall(const LogChecker& later) {
    written_ = later.written_;
    sent_ = later.sent_;
}

void LogChecker::CheckEnd(MemoryDatabase& database, Partition partition) {
    for (const auto& [id, log] : logs_) {
        const auto row = database.FindExecutions(partition, {id});
        if (!row || !row->front()) continue;  // Purged, and its log with it.
        const auto stored = database.ReadLog(partition, id, 0, SIZE_MAX);
        const bool same = stored && std::ranges::equal(*stored, log.chunks, {}, &LogChunk::index,
                                                       &LogChunk::index);
        if (!same) fail_("the store does not have the log of " + id.text().str());
    }
}

}  // namespace takt::internal::sim
