// Lines that handlers of a simulated worker write: sent at once, or with what comes next, and before
// the result in any case.
#include "sim/actors.h"

namespace takt::internal::sim {
namespace {

constexpr std::uint64_t kLinesMax = 8;
constexpr std::uint64_t kLineMax = 200;

}  // namespace

// Now and then a line, until the handler ends.
void SimWorker::WriteLater(const Key& key) {
    cluster_.world.After(cluster_.world.Between(1ms, 400ms), process_, [this, key] {
        const auto found = held_.find(key);
        if (found == held_.end() || !found->second.running) return;
        Held& held = found->second;
        ++held.lines;
        held.lines_due.emplace_back(
            held.lines,
            cluster_.checker.logs.Write(held.ref, held.lines, cluster_.world.Below(kLineMax)));
        if (cluster_.world.Chance(0.7)) SendLines(held);
        if (held.lines < kLinesMax) WriteLater(key);
    });
}

void SimWorker::SendLines(Held& held) {
    if (!connection_ || held.lines_due.empty()) return;
    std::string lines;
    for (const auto& [number, line] : held.lines_due) {
        cluster_.checker.logs.OnSent(connection_->session, held.ref, number);
        lines += line;
    }
    held.lines_due.clear();
    Send(LogLines{connection_->session, held.ref, Text(lines)});
}

}  // namespace takt::internal::sim
