// LiveTable: owns every execution that is not finished, and finds it by its id.
//
// One that is finished is found no more from that moment on, but stays whole until the end of the
// step: whoever was given it may go on reading it.
//
// It is of many parts, each of which grows by itself. One table of half a million would be moved to a
// larger one within a single step, some tens of milliseconds in which nobody is served, other
// namespaces of the loop least of all.
#pragma once

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "engine/live.h"

namespace takt::internal {

class LiveTable {
  public:
    LiveTable() = default;
    LiveTable(const LiveTable&) = delete;
    LiveTable& operator=(const LiveTable&) = delete;
    ~LiveTable() {
        for (const Part& part : parts_) {
            for (const Live* live : part) delete live;
        }
        FreeFinished();
    }

    // REQUIRES: none of that id is there.
    Live& Add(Execution row) {
        auto live = std::make_unique<Live>();
        live->row = std::move(row);
        const bool added = PartOf(live->row.id.view()).insert(live.get()).second;
        TAKT_CHECK(added);
        ++size_;
        return *live.release();
    }

    // Null if there is none.
    Live* Find(std::string_view id) const {
        const Part& part = parts_[IndexOf(id)];
        const auto found = part.find(id);
        return found == part.end() ? nullptr : *found;
    }

    // REQUIRES: in no list, and in no timer heap.
    void Finish(Live& live) {
        TAKT_CHECK(!live.listed && !live.armed());
        size_ -= PartOf(live.row.id.view()).erase(&live);
        live.finished = true;
        finished_.push_back(&live);
    }

    // The step is over: nobody holds a finished one any more.
    void FreeFinished() {
        for (const Live* live : finished_) delete live;
        finished_.clear();
    }

    std::size_t size() const { return size_; }
    // The most that one Add may move.
    std::size_t largest_part() const {
        return std::ranges::max_element(parts_, {}, &Part::size)->size();
    }

  private:
    struct ById {
        using is_transparent = void;
        std::size_t operator()(const Live* live) const { return TextHash{}(live->row.id.view()); }
        std::size_t operator()(std::string_view id) const { return TextHash{}(id); }
        bool operator()(const Live* a, const Live* b) const { return a == b; }
        bool operator()(std::string_view id, const Live* b) const { return id == b->row.id.view(); }
        bool operator()(const Live* a, std::string_view id) const { return id == a->row.id.view(); }
    };

    using Part = boost::unordered_flat_set<Live*, ById, ById>;

    // A million make parts of 8,000, moved in a millisecond; none of them, 6 KB in all.
    static constexpr std::size_t kPartBits = 7;

    // By the first bits of the hash; the tables of the parts mix it once more.
    static std::size_t IndexOf(std::string_view id) {
        return TextHash{}(id) >> (8 * sizeof(std::size_t) - kPartBits);
    }
    Part& PartOf(std::string_view id) { return parts_[IndexOf(id)]; }

    std::array<Part, std::size_t{1} << kPartBits> parts_;
    std::size_t size_ = 0;
    std::vector<Live*> finished_;
};

}  // namespace takt::internal
