// Turns: which of the requests that wait for a connection go next, if several partitions share it.
//
// A server works off a connection in order, so that what is written waits behind all that was written
// before. As long as one party alone uses the connection, everything goes at once. From when another
// comes until it has been quiet for kSharedFor each party has one request under way at most, or
// several small ones, they take turns, and beside the oldest under way there are kBytesBeyondFirst at
// most. So a party that submits as fast as it can makes others wait for one of its batches, not for
// its whole pipeline.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace takt::internal::redis {

class Turns {
  public:
    using Party = std::uint32_t;
    using Now = std::chrono::steady_clock::time_point;

    // One request at a time costs a party next to nothing: the next is written when the answer comes.
    static constexpr std::chrono::seconds kSharedFor{5};
    static constexpr std::size_t kBytesBeyondFirst = 1 << 20;
    // Of one party together: some ten small commits, which cost the server as much as one large one.
    static constexpr std::size_t kSmallBytes = 64 << 10;

    // A party has something to say.
    void Note(Party party, Now now) {
        if (last_ && *last_ != party) shared_until_ = now + kSharedFor;
        last_ = party;
    }

    // Which of the requests that wait may be written now; nothing if none may. `Request` has `party`
    // and `bytes`.
    template <typename Request>
    std::optional<std::size_t> Next(const std::deque<Request>& waiting, Now now) const {
        if (waiting.empty()) return std::nullopt;
        if (now >= shared_until_) return 0;
        std::optional<std::size_t> next;
        std::set<Party> seen;
        for (std::size_t i = 0; i < waiting.size(); ++i) {
            const Party party = waiting[i].party;
            // The first request of each party is its oldest, and those behind it wait for it.
            if (!seen.insert(party).second) continue;
            if (!MayBegin(party, waiting[i].bytes)) continue;
            // In the order of their numbers, beginning behind the one that was last.
            if (!next || Distance(party) < Distance(waiting[*next].party)) next = i;
        }
        return next;
    }

    void Begin(Party party, std::size_t bytes) {
        under_way_.push_back({party, bytes});
        bytes_ += bytes;
        by_party_[party] += bytes;
        served_ = party;
    }
    // The oldest under way was answered.
    void EndOldest() {
        const Written oldest = under_way_.front();
        under_way_.pop_front();
        bytes_ -= oldest.bytes;
        std::size_t& left = by_party_[oldest.party];
        left -= oldest.bytes;
        if (left == 0) by_party_.erase(oldest.party);
    }
    // All that was under way is lost.
    void EndAll() {
        under_way_.clear();
        by_party_.clear();
        bytes_ = 0;
    }

  private:
    struct Written {
        Party party = 0;
        std::size_t bytes = 0;
    };

    bool MayBegin(Party party, std::size_t bytes) const {
        const auto under_way = by_party_.find(party);
        if (under_way != by_party_.end() && under_way->second + bytes > kSmallBytes) return false;
        return under_way_.empty() || bytes_ - under_way_.front().bytes + bytes <= kBytesBeyondFirst;
    }
    // Turns from the one that was served last; that one itself is the furthest.
    Party Distance(Party party) const { return party - served_ - 1; }

    std::optional<Party> last_;
    Now shared_until_{};
    Party served_ = 0;
    std::deque<Written> under_way_;          // Oldest first.
    std::map<Party, std::size_t> by_party_;  // Bytes under way; none is without any.
    std::size_t bytes_ = 0;
};

}  // namespace takt::internal::redis
