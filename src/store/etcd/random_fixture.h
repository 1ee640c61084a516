// Random batches of executions, and a plain map of what they leave.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {

struct Stored {
    Execution row;
    Place place = Place::kLive;
};
using Model = std::map<Serial, Stored>;

class EtcdRandomTest : public EtcdTest {
  protected:
    std::size_t Below(std::size_t end) { return random_() % end; }
    bool Once(std::size_t in) { return Below(in) == 0; }
    Text Noise(std::size_t size) {
        std::string text(size, 'a');
        for (char& c : text) c = static_cast<char>('a' + Below(26));
        return Text(text);
    }
    Execution Make() {
        if (Once(6)) make_.Pass(Duration(Below(400)));
        const bool child = Once(8);
        const std::string id = "chosen-" + std::to_string(++made_);
        Execution row = child ? make_.Child(run_, id) : make_.OneOff(id);
        if (!Once(3)) row.id = ExecutionId(Text(SerialText(row.serial)));
        NewTaskPtr task(new Task(*row.task));
        task->id = TaskId(Text("t-" + std::to_string(Below(5))));
        task->payload = Noise(Once(150) ? 70u << 10 : Once(20) ? 3000 : 40 + Below(weight_));
        row.task = task;
        return row;
    }
    Execution Finish(Execution row) {
        row = conformance::Finished(std::move(row), Once(4) ? Status::kFailed : Status::kSuccess);
        row.finished_at = make_.now();
        if (Once(30)) row.progress = Noise(2000);
        return row;
    }
    Execution Step(Execution row) {
        if (Once(2)) row.progress = Noise(Below(Once(9) ? 1500 : 500));
        switch (Below(3)) {
            case 0:
                row = conformance::Scheduled(std::move(row), "w-" + std::to_string(Below(3)));
                for (std::uint8_t& byte : row.token) byte = static_cast<std::uint8_t>(random_());
                return row;
            case 1:
                return conformance::Running(std::move(row));
            default:
                return conformance::Retrying(std::move(row));
        }
    }

    void Insert(std::vector<Change>& changes, Model& model) {
        for (std::size_t i = Once(3) ? 1 : Below(50); i > 0; --i) {
            Execution row = Make();
            if (Once(15)) {
                late_.push_back(row);
                continue;
            }
            if (!late_.empty() && Once(5)) {
                if (Once(2)) std::swap(row, late_.back());
                Apply({Place::kNone, Place::kLive, late_.back()}, changes, model);
                late_.pop_back();
            }
            const bool ended = Once(10);
            Apply({Place::kNone, ended ? Place::kHistory : Place::kLive,
                   ended ? Finish(std::move(row)) : std::move(row)},
                  changes, model);
        }
    }
    // Executions of one place, a run of neighbours or anything.
    std::vector<Execution> Pick(Place place, std::size_t many, const std::set<Serial>& before,
                                const Model& model) {
        std::vector<Execution> rows;
        for (const auto& [serial, stored] : model) {
            if (stored.place != place || serial == run_.serial) continue;
            if (before.contains(serial)) rows.push_back(stored.row);
        }
        if (Once(2)) std::ranges::shuffle(rows, random_);
        many = std::min(many, rows.size());
        const std::size_t begin = Below(rows.size() - many + 1);
        return {rows.begin() + static_cast<std::ptrdiff_t>(begin),
                rows.begin() + static_cast<std::ptrdiff_t>(begin + many)};
    }
    static void Apply(ExecutionChange change, std::vector<Change>& changes, Model& model) {
        model[change.row.serial] = {change.row, change.after};
        changes.push_back(std::move(change));
    }
    std::vector<Change> NextBatch(Model& model) {
        make_.Pass(Duration(1 + Below(30)));
        const Time begin = make_.now();
        weight_ = Once(4) ? 600 : 100;
        std::vector<Change> changes;
        std::set<Serial> before;  // One change of a row in a batch.
        for (const auto& [serial, stored] : model) before.insert(serial);
        const bool purges = Once(9);
        if (purges && Once(2)) {
            AddPurge(begin, changes, model);
            return changes;
        }
        if (!Once(3)) Insert(changes, model);
        for (const Execution& row : Pick(Place::kLive, Below(40), before, model)) {
            before.erase(row.serial);
            if (Once(2))
                Apply({Place::kLive, Place::kHistory, Finish(row)}, changes, model);
            else
                Apply({Place::kLive, Place::kLive, Step(row)}, changes, model);
        }
        if (Once(3)) {
            for (const Execution& row : Pick(Place::kHistory, Below(4), before, model)) {
                Apply({Place::kHistory, Place::kLive, conformance::Redriven(row)}, changes, model);
            }
        }
        if (purges) AddPurge(begin, changes, model);
        return changes;
    }
    // Of some that ended before `latest`: those of this batch may stay.
    void AddPurge(Time latest, std::vector<Change>& changes, Model& model) {
        std::vector<Time> times;
        for (const auto& [serial, stored] : model) {
            const bool old = stored.place == Place::kHistory && stored.row.parent.empty();
            if (old) times.push_back(stored.row.finished_at);
        }
        if (times.empty()) return;
        std::ranges::sort(times);
        const Time bound = std::min(latest, times[Below(std::min<std::size_t>(times.size(), 200))]);
        std::erase_if(model, [&](const auto& entry) {
            const Stored& stored = entry.second;
            const bool goes = stored.place == Place::kHistory && stored.row.parent.empty() &&
                              stored.row.finished_at < bound;
            if (goes) purged_.push_back(stored.row.id);
            return goes;
        });
        changes.push_back(Purge{.finished_before = bound});
    }

    std::mt19937_64 random_;
    Execution run_;  // Goes on for ever; some of the others are part of it.
    std::vector<ExecutionId> purged_;

  private:
    std::vector<Execution> late_;  // Whose serials are not the newest any more when they come.
    int made_ = 0;
    std::size_t weight_ = 100;  // What rows of a batch are large by.
};

}  // namespace takt::internal::etcd
