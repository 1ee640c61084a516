// LiveTable: owns every execution that is not finished, and finds it by its id.
//
// One that is finished is found no more from that moment on, but stays whole until the end of the
// step: whoever was given it may go on reading it.
#pragma once

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
        for (const Live* live : table_) delete live;
        FreeFinished();
    }

    // REQUIRES: none of that id is there.
    Live& Add(Execution row) {
        auto live = std::make_unique<Live>();
        live->row = std::move(row);
        const bool added = table_.insert(live.get()).second;
        TAKT_CHECK(added);
        return *live.release();
    }

    // Null if there is none.
    Live* Find(std::string_view id) const {
        const auto found = table_.find(id);
        return found == table_.end() ? nullptr : *found;
    }

    // REQUIRES: in no list, and in no timer heap.
    void Finish(Live& live) {
        TAKT_CHECK(!live.listed && !live.armed());
        table_.erase(&live);
        live.finished = true;
        finished_.push_back(&live);
    }

    // The step is over: nobody holds a finished one any more.
    void FreeFinished() {
        for (const Live* live : finished_) delete live;
        finished_.clear();
    }

    std::size_t size() const { return table_.size(); }

  private:
    struct ById {
        using is_transparent = void;
        std::size_t operator()(const Live* live) const { return TextHash{}(live->row.id.view()); }
        std::size_t operator()(std::string_view id) const { return TextHash{}(id); }
        bool operator()(const Live* a, const Live* b) const { return a == b; }
        bool operator()(std::string_view id, const Live* b) const { return id == b->row.id.view(); }
        bool operator()(const Live* a, std::string_view id) const { return id == a->row.id.view(); }
    };

    boost::unordered_flat_set<Live*, ById, ById> table_;
    std::vector<Live*> finished_;
};

}  // namespace takt::internal
