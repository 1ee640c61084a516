// Random histories of leaders whose clocks are apart, with lost answers and discarded states: each
// purge takes as many of what is due as it may, and nothing else.
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <set>

#include "base/failpoint.h"
#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

constexpr int kPurgeSteps = 80;

class EtcdPurgeRandomTest : public EtcdLeaderTest, public testing::WithParamInterface<unsigned> {
  protected:
    using Rows = std::map<std::string, Execution>;

    void SetUp() override {
        random_.seed(GetParam() + 1000 * testing::UnitTest::GetInstance()->random_seed());
        EtcdLeaderTest::SetUp();
    }
    std::size_t Below(std::size_t end) { return random_() % end; }
    bool Once(std::size_t in) { return Below(in) == 0; }
    Duration Minutes(int around) {
        return Duration(60'000) * (static_cast<int>(Below(2 * std::size_t(around) + 1)) - around);
    }

    Execution Ended(Execution row) {
        row = conformance::Finished(std::move(row));
        row.finished_at = make_.now() + clock_;
        return row;
    }
    // Changes of one batch: what ends, comes back, ends again.
    std::vector<Change> NextChanges(std::set<std::string>& changed) {
        make_.Pass(Duration(1 + Below(600'000)));
        std::vector<Change> changes;
        for (std::size_t i = Below(6); i > 0; --i) {
            const Execution row = Ended(make_.OneOff("e-" + std::to_string(++made_)));
            changes.push_back(ExecutionChange{Place::kNone, Place::kHistory, row});
            changed.insert(row.id.text().str());
            ended_[row.id.text().str()] = row;
        }
        if (!live_.empty() && Once(2)) {
            const Execution row = Ended(live_.begin()->second);
            changes.push_back(ExecutionChange{Place::kLive, Place::kHistory, row});
            changed.insert(row.id.text().str());
            ended_[row.id.text().str()] = row;
            live_.erase(live_.begin());
        }
        const auto again = ended_.empty()
                               ? ended_.end()
                               : std::next(ended_.begin(), std::ptrdiff_t(Below(ended_.size())));
        if (again != ended_.end() && Once(4) && !changed.contains(again->first)) {
            const Execution row = conformance::Redriven(again->second);
            changes.push_back(ExecutionChange{Place::kHistory, Place::kLive, row});
            changed.insert(again->first);
            live_[again->first] = row;
            ended_.erase(again);
        }
        return changes;
    }
    void Lose() {
        ASSERT_TRUE(
            SetFailPoints(std::string(Once(2) ? "store.etcd.request" : "store.etcd.answer") +
                          ":error:" + std::to_string(1 + Below(2))));
    }
    // All at once, and again from the first that was not answered.
    void Send(std::vector<std::vector<Change>> all) {
        std::vector<BatchPtr> batches;
        for (std::vector<Change>& changes : all) {
            batches.push_back(std::make_shared<const Batch>(
                Batch{term_, ++sequence_, make_.last_serial(), std::move(changes)}));
        }
        if (Once(5)) Lose();
        for (int i = 0; i < 20 && !batches.empty(); ++i) {
            std::vector<std::promise<Result<void>>> answers(batches.size());
            for (std::size_t j = 0; j < batches.size(); ++j) {
                store_->Commit(batches[j], [&answers, j](Result<void> done) {
                    answers[j].set_value(std::move(done));
                });
            }
            std::ptrdiff_t done = 0;
            bool all_before = true;
            for (auto& answer : answers) {
                all_before = answer.get_future().get().has_value() && all_before;
                if (all_before) ++done;
            }
            batches.erase(batches.begin(), batches.begin() + done);
        }
        ASSERT_TRUE(SetFailPoints(""));
        ASSERT_TRUE(batches.empty());
    }
    void Discard() {
        const Result<std::string> now = server_->Ctl({"put", "/other", "x", "-w", "json"});
        ASSERT_TRUE(now) << now.error().detail;
        const std::string name = "\"revision\":";
        ASSERT_TRUE(server_->Ctl(
            {"compact", std::to_string(std::stoll(now->substr(now->find(name) + name.size())))}));
    }
    std::set<std::string> ListedEnded() {
        std::set<std::string> ids;
        const auto rows = List({.statuses = {Status::kSuccess}, .limit = 1000});
        EXPECT_TRUE(rows) << rows.error().detail;
        for (const Execution& row : *rows) ids.insert(row.id.text().str());
        return ids;
    }
    // The last of the batches has a purge.
    void PurgeStep() {
        std::vector<std::vector<Change>> all;
        std::set<std::string> changed;
        for (std::size_t i = Below(3); i > 0; --i) all.push_back(NextChanges(changed));
        changed.clear();
        all.push_back(Once(2) ? NextChanges(changed) : std::vector<Change>());
        const Time before = make_.now() + Minutes(200) - Duration(7'200'000);
        const std::size_t count = 1 + Below(Once(2) ? 6 : 60);
        all.back().push_back(
            Purge{.finished_before = before, .count_max = static_cast<std::uint32_t>(count)});
        const auto due = static_cast<std::size_t>(std::ranges::count_if(ended_, [&](const auto& e) {
            return e.second.finished_at < before && !changed.contains(e.first);
        }));
        Send(std::move(all));
        const std::set<std::string> left = ListedEnded();
        std::size_t gone = 0;
        std::erase_if(ended_, [&](const auto& entry) {
            if (left.contains(entry.first)) return false;
            ++gone;
            EXPECT_LT(entry.second.finished_at, before) << entry.first;
            return true;
        });
        EXPECT_EQ(left.size(), ended_.size());
        EXPECT_EQ(gone, std::min(due, count));
    }

    std::mt19937_64 random_;
    Duration clock_{};  // Of the leader, ahead.
    Rows ended_, live_;
    int made_ = 0;
};

TEST_P(EtcdPurgeRandomTest, EachPurgeTakesWhatIsDueAndNothingElse) {
    for (int step = 0; step < kPurgeSteps && !HasFailure(); ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        if (Once(6)) {
            Lead();
            clock_ = Minutes(90);
        }
        if (Once(10)) Discard();
        std::vector<std::vector<Change>> all;
        std::set<std::string> changed;
        for (std::size_t i = 1 + Below(3); i > 0; --i) all.push_back(NextChanges(changed));
        Send(std::move(all));
        if (Once(2)) PurgeStep();
    }
    Put({Purge{make_.now() + Duration(100'000'000), {}, 700}});
    EXPECT_EQ(ListedEnded().size(), 0u);
    EXPECT_EQ(KeysUnder("0/packs/") + KeysUnder("0/history/") + KeysUnder("0/pages/history/"), 0u);
    EXPECT_EQ(KeysUnder("ids/"), live_.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, EtcdPurgeRandomTest, testing::Values(1u, 2u, 3u));

}  // namespace
}  // namespace takt::internal::etcd
