#include "statistics/queue_history.h"

#include <algorithm>
#include <array>
#include <utility>

#include "statistics/point_text.h"

namespace takt::internal {
namespace {

// How a line of a queue begins; points of the whole scheduler begin with a number.
constexpr std::string_view kQueueWord = "q";
constexpr std::size_t kQueueNumbers = 7;  // Of one point.

void AppendPoint(std::string& text, const QueuePoint& point) {
    const auto whole = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    for (const PointNumber& number : std::array<PointNumber, kQueueNumbers>{
             point.at.time_since_epoch().count(), whole(point.waiting), whole(point.working),
             point.oldest_wait.count(), whole(point.finished), whole(point.failed),
             InHundredths(point.wait_p95)}) {
        AppendNumber(text, number);
    }
}

std::optional<QueuePoint> TakePoint(std::string_view& line) {
    std::array<PointNumber, kQueueNumbers> numbers;
    for (PointNumber& number : numbers) {
        if (!TakeNumber(line, number)) return std::nullopt;
    }
    const auto whole = [&](std::size_t at) {
        return static_cast<std::uint64_t>(numbers[at].value_or(0));
    };
    return QueuePoint{.at = Time(Duration(numbers[0].value_or(0))),
                      .waiting = whole(1),
                      .working = whole(2),
                      .oldest_wait = Duration(numbers[3].value_or(0)),
                      .finished = whole(4),
                      .failed = whole(5),
                      .wait_p95 = OfHundredths(numbers[6])};
}

void AddPoint(std::deque<QueuePoint>& points, const QueuePoint& point) {
    points.push_back(point);
    if (points.size() > QueueHistory::kPointsMax) points.pop_front();
}

}  // namespace

std::string EncodeQueues(const QueuePoints& queues) {
    std::string text;
    for (const auto& [queue, points] : queues) {
        // Names of queues are ids: there is no space in them.
        text += std::string(kQueueWord) + " " + queue + " ";
        for (const QueuePoint& point : points) AppendPoint(text, point);
        text.back() = '\n';
    }
    return text;
}

void DecodeQueues(std::string_view text, QueuePoints& into) {
    while (!text.empty()) {
        std::string_view line = TakeUntil(text, '\n');
        if (TakeUntil(line, ' ') != kQueueWord) continue;
        const std::string_view queue = TakeUntil(line, ' ');
        if (!IsValidId(queue)) continue;
        while (!line.empty()) {
            const auto point = TakePoint(line);
            if (!point) break;
            into[std::string(queue)].push_back(*point);
        }
    }
}

QueueHistory::Entry* QueueHistory::At(const Text& queue) {
    if (last_ && last_queue_ == queue) return last_;
    auto found = queues_.find(queue);
    if (found == queues_.end()) {
        if (queues_.size() >= kQueuesMax && !MakePlace()) return nullptr;
        found = queues_.emplace(queue, std::make_unique<Entry>()).first;
    }
    last_queue_ = queue;
    last_ = found->second.get();
    return last_;
}

bool QueueHistory::MakePlace() {
    if (full_) return false;
    const auto last_at = [](const Entry& entry) {
        return entry.points.empty() ? Time{} : entry.points.back().at;
    };
    auto idle = queues_.end();
    for (auto each = queues_.begin(); each != queues_.end(); ++each) {
        if (!each->second->now.idle()) continue;
        if (idle == queues_.end() || last_at(*each->second) < last_at(*idle->second)) idle = each;
    }
    full_ = idle == queues_.end();
    if (full_) return false;
    queues_.erase(idle);
    last_ = nullptr;
    return true;
}

void QueueHistory::Look(std::vector<Depth> depths) {
    std::erase_if(depths, [](const Depth& each) { return each.waiting + each.working == 0; });
    if (depths.size() > kQueuesMax) {
        const auto end = depths.begin() + kQueuesMax;
        std::ranges::nth_element(depths, end, std::ranges::greater(), &Depth::waiting);
        depths.erase(end, depths.end());
    }
    for (const Depth& depth : depths) {
        Entry* const entry = At(depth.queue);
        if (!entry) continue;
        QueuePoint& now = entry->now;
        now.waiting = std::max(now.waiting, depth.waiting);
        now.working = std::max(now.working, depth.working);
        now.oldest_wait = std::max(now.oldest_wait, depth.oldest_wait);
    }
}

void QueueHistory::Ended(const Execution& row) {
    // A run is no work of a queue's; its steps are.
    if (row.status == Status::kSkipped || row.task->workflow()) return;
    Entry* const entry = At(row.task->queue);
    if (!entry) return;
    ++entry->now.finished;
    entry->now.failed += row.status == Status::kFailed;
    if (row.started_at == Time{}) return;
    if (!entry->waits) entry->waits = std::make_unique<Sketch>();
    entry->waits->Add(row.started_at - row.ready_at);
}

void QueueHistory::EndStep(Time now) {
    const Time before = std::exchange(last_step_, now);
    const Time kept_from = now - kKept;
    full_ = false;
    last_ = nullptr;
    for (auto& [queue, kept] : queues_) {
        Entry& entry = *kept;
        std::deque<QueuePoint>& points = entry.points;
        QueuePoint point = std::exchange(entry.now, {});
        point.at = now;
        if (entry.waits) point.wait_p95 = entry.waits->Quantile(0.95);
        entry.waits.reset();
        if (!point.idle()) {
            const bool was_idle = points.empty() || points.back().at < before;
            if (was_idle && before != Time{}) AddPoint(points, {.at = before});
            AddPoint(points, point);
        } else if (!points.empty() && !points.back().idle()) {
            AddPoint(points, point);
        }
        while (!points.empty() && points.front().at < kept_from) points.pop_front();
    }
    boost::unordered::erase_if(queues_,
                               [](const auto& each) { return each.second->points.empty(); });
}

std::vector<QueuePoint> QueueHistory::Since(const Text& queue, Time from) const {
    const auto found = queues_.find(queue);
    if (found == queues_.end()) return {};
    std::vector<QueuePoint> points;
    std::ranges::copy_if(found->second->points, std::back_inserter(points),
                         [&](const QueuePoint& point) { return point.at >= from; });
    return points;
}

QueuePoints QueueHistory::Since(Time from) const {
    QueuePoints queues;
    for (const auto& [queue, entry] : queues_) {
        auto points = Since(queue, from);
        if (!points.empty()) queues.emplace(queue.str(), std::move(points));
    }
    return queues;
}

bool QueueHistory::Keeps(const Text& queue) const {
    return queues_.contains(queue) || queues_.size() < kQueuesMax;
}

void QueueHistory::Prepend(const QueuePoints& queues) {
    // Queues that were at work last come first.
    std::vector<std::pair<Time, const QueuePoints::value_type*>> order;
    for (const auto& each : queues) {
        if (!each.second.empty()) order.emplace_back(each.second.back().at, &each);
    }
    std::ranges::sort(order, std::ranges::greater(), &decltype(order)::value_type::first);
    for (const auto& [last_at, each] : order) {
        auto& entry = queues_[Text(each->first)];
        if (!entry) {
            if (queues_.size() > kQueuesMax) {
                queues_.erase(Text(each->first));
                return;
            }
            entry = std::make_unique<Entry>();
        }
        std::deque<QueuePoint>& points = entry->points;
        for (auto point = each->second.rbegin(); point != each->second.rend(); ++point) {
            if (points.size() >= kPointsMax) break;
            if (points.empty() || point->at < points.front().at) points.push_front(*point);
        }
    }
}

void QueueHistory::Clear() {
    queues_.clear();
    full_ = false;
    last_step_ = {};
    last_ = nullptr;
}

}  // namespace takt::internal
