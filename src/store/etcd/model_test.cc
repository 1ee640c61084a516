// Random commits beside a plain map: whatever is written, answered or not, by this leader or the one
// after it, each way of reading gives the rows of the map.
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <set>

#include "store/etcd/store_fixture.h"
#include "store/matches.h"

namespace takt::internal::etcd {
namespace {

using conformance::Show;

// Small, so that windows and pages end in all places.
constexpr std::size_t kLoadPageRows = 23;
constexpr int kSteps = 30;

struct Stored {
    Execution row;
    Place place = Place::kLive;
};
using Model = std::map<Serial, Stored>;

class EtcdModelTest : public EtcdTest, public testing::WithParamInterface<unsigned> {
  protected:
    void SetUp() override {
        random_.seed(GetParam() + 1000 * testing::UnitTest::GetInstance()->random_seed());
        StartServer();
        Reopen();
        run_ = make_.Fire("flow", "the-run");
        Commit({{ExecutionChange{Place::kNone, Place::kLive, run_}}});
    }

    std::size_t Below(std::size_t end) { return random_() % end; }
    bool Once(std::size_t in) { return Below(in) == 0; }

    // The next leader, in another process. What the last commits were is not known to it.
    void Reopen() {
        store_.reset();
        Result<EtcdOptions> options = ParseEtcdUrl(server_->url("?timeout=400ms"));
        ASSERT_TRUE(options);
        options->load_page_rows = kLoadPageRows;
        store_ = std::move(*OpenEtcd(*options));
        Lead();
    }
    void Lead() {
        Result<Term> term;
        for (int i = 0; i < 20 && !(term = Acquire()); ++i) continue;
        ASSERT_TRUE(term) << term.error().detail;
        term_ = *term;
        sequence_ = 0;
    }

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
        weight_ = Once(4) ? 600 : 100;
        std::vector<Change> changes;
        std::set<Serial> before;  // One change of a row in a batch.
        for (const auto& [serial, stored] : model) before.insert(serial);
        if (Once(12)) {
            AddPurge(changes, model);
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
        if (!Once(3)) return changes;
        for (const Execution& row : Pick(Place::kHistory, Below(4), before, model)) {
            Apply({Place::kHistory, Place::kLive, conformance::Redriven(row)}, changes, model);
        }
        return changes;
    }
    void AddPurge(std::vector<Change>& changes, Model& model) {
        std::vector<Time> times;
        for (const auto& [serial, stored] : model) {
            const bool old = stored.place == Place::kHistory && stored.row.parent.empty();
            if (old) times.push_back(stored.row.finished_at);
        }
        if (times.empty()) return;
        std::ranges::sort(times);
        const Time bound = times[Below(std::min<std::size_t>(times.size(), 200))];
        std::erase_if(model, [&](const auto& entry) {
            const Stored& stored = entry.second;
            const bool goes = stored.place == Place::kHistory && stored.row.parent.empty() &&
                              stored.row.finished_at < bound;
            if (goes) purged_.push_back(stored.row.id);
            return goes;
        });
        changes.push_back(Purge{.finished_before = bound});
    }

    // Sends all of them at once; the answers come in order.
    std::vector<Result<void>> Send(const std::vector<BatchPtr>& batches) {
        std::vector<std::promise<Result<void>>> answers(batches.size());
        for (std::size_t i = 0; i < batches.size(); ++i) {
            store_->Commit(batches[i], [&answers, i](Result<void> done) {
                answers[i].set_value(std::move(done));
            });
        }
        std::vector<Result<void>> results;
        for (auto& answer : answers) results.push_back(answer.get_future().get());
        return results;
    }
    std::vector<BatchPtr> MakeBatches(std::vector<std::vector<Change>> all) {
        std::vector<BatchPtr> batches;
        for (std::vector<Change>& changes : all) {
            batches.push_back(std::make_shared<const Batch>(
                Batch{term_, ++sequence_, make_.last_serial(), std::move(changes)}));
        }
        return batches;
    }
    void Commit(std::vector<std::vector<Change>> all) {
        for (const BatchPtr& batch : MakeBatches(std::move(all))) {
            const Result<void> done = CommitUntilDone(*batch);
            ASSERT_TRUE(done) << done.error().detail;
        }
    }
    Result<void> CommitUntilDone(const Batch& batch) {
        return EtcdTest::CommitUntilDone(batch.term, batch.sequence, batch.changes);
    }

    // --- What is read ---------------------------------------------------------------------------

    // The store's time for an answer is short, and a machine may be busy.
    template <typename T>
    static Result<T> Read(auto call) {
        Result<T> read = conformance::Await<T>(call);
        for (int i = 0; i < 20 && !read; ++i) read = conformance::Await<T>(call);
        return read;
    }
    std::vector<std::string> ReadLive() {
        std::vector<std::string> rows;
        std::string cursor;
        do {
            const auto page = Read<LoadPage>([&](Done<LoadPage> done) {
                store_->Load(kDefaultPartition, cursor, std::move(done));
            });
            EXPECT_TRUE(page) << page.error().detail;
            if (!page) return rows;
            for (const Execution& row : page->executions) rows.push_back(Show(row));
            cursor = page->next;
        } while (!cursor.empty());
        return rows;
    }
    static std::vector<std::string> LiveOf(const Model& model) {
        std::vector<std::string> rows;
        for (const auto& [serial, stored] : model) {
            if (stored.place == Place::kLive) rows.push_back(Show(stored.row));
        }
        return rows;
    }
    std::vector<std::string> ReadList(ExecutionFilter filter) {
        std::vector<std::string> rows;
        for (;;) {
            using Rows = std::vector<Execution>;
            const auto page = Read<Rows>(
                [&](Done<Rows> done) { store_->ListExecutions(filter, std::move(done)); });
            EXPECT_TRUE(page) << page.error().detail;
            if (!page || page->empty()) return rows;
            for (const Execution& row : *page) rows.push_back(Show(row));
            filter.before = page->back().serial;
        }
    }
    static std::vector<std::string> ListOf(const ExecutionFilter& filter, const Model& model) {
        std::vector<std::string> rows;
        for (auto it = model.rbegin(); it != model.rend(); ++it) {
            if (Matches(filter, it->second.row)) rows.push_back(Show(it->second.row));
        }
        return rows;
    }
    ExecutionFilter AnyFilter() {
        ExecutionFilter filter;
        filter.limit = 1 + Below(60);
        filter.children = Once(2);
        if (Once(3)) filter.statuses = {Status::kSuccess};
        if (Once(4)) filter.statuses = {Status::kPending, Status::kRunning, Status::kFailed};
        if (Once(4)) filter.task = TaskId("t-1");
        if (Once(6)) filter.worker = WorkerId("w-1");
        if (Once(6)) filter.parent = run_.id;
        const Duration passed = make_.now() - run_.created_at + Duration(1);
        const auto any = [&] {
            return run_.created_at + Duration(Below(static_cast<std::size_t>(passed.count())));
        };
        if (Once(3)) filter.created_from = any();
        if (Once(3)) filter.created_to = any();
        return filter;
    }
    // A thousand rows in a message help nobody.
    static void ExpectSame(const std::vector<std::string>& rows,
                           const std::vector<std::string>& expected) {
        const auto [row, other] = std::ranges::mismatch(rows, expected);
        const auto brief = [](auto at, const auto& all) {
            return at == all.end() ? "the end" : at->substr(0, 100);
        };
        if (row == rows.end() && other == expected.end()) return;
        FAIL() << "at " << row - rows.begin() << " of " << expected.size() << " there is "
               << brief(row, rows) << "\ninstead of " << brief(other, expected);
    }
    void CheckFound(const Model& model) {
        std::vector<ExecutionId> ids = {ExecutionId("nobody"), run_.id};
        std::vector<std::string> expected = {"none", Show(model.at(run_.serial).row)};
        for (const auto& [serial, stored] : model) {
            if (!Once(20)) continue;
            ids.push_back(stored.row.id);
            expected.push_back(Show(stored.row));
        }
        for (const ExecutionId& id : purged_) {
            if (!Once(10)) continue;
            ids.push_back(id);
            expected.push_back("none");
        }
        using Found = std::vector<std::optional<Execution>>;
        const auto found = Read<Found>([&](Done<Found> done) {
            store_->FindExecutions(kDefaultPartition, ids, std::move(done));
        });
        ASSERT_TRUE(found) << found.error().detail;
        std::vector<std::string> rows;
        for (const auto& row : *found) rows.push_back(row ? Show(*row) : "none");
        SCOPED_TRACE("by id");
        ExpectSame(rows, expected);
    }
    void Check(const Model& model) {
        {
            SCOPED_TRACE("loaded");
            ExpectSame(ReadLive(), LiveOf(model));
        }
        const ExecutionFilter all{.children = true, .limit = 1000};
        for (const ExecutionFilter& filter : {all, AnyFilter()}) {
            SCOPED_TRACE("listed, limit " + std::to_string(filter.limit));
            ExpectSame(ReadList(filter), ListOf(filter, model));
        }
        CheckFound(model);
    }

    // --- One step -------------------------------------------------------------------------------

    void Stop() {
        killed_ = Once(3);
        killed_ ? server_->process().Kill() : server_->process().Pause();
    }
    void GoOn() {
        if (!killed_) return server_->process().Continue();
        ASSERT_TRUE(server_->process().Restart());
        ASSERT_TRUE(server_->AwaitMember(0));
    }
    // Another leader finds what was stored: some of the batches, in their order.
    void Settle(const std::vector<Model>& states) {
        const std::vector<std::string> live = ReadLive();
        const ExecutionFilter all{.children = true, .limit = 1000};
        const std::vector<std::string> rows = ReadList(all);
        const auto state = std::ranges::find_if(states, [&](const Model& each) {
            return LiveOf(each) == live && ListOf(all, each) == rows;
        });
        ASSERT_NE(state, states.end()) << "half of a batch was applied";
        model_ = *state;
        std::erase_if(purged_, [&](const ExecutionId& id) {
            return std::ranges::any_of(model_,
                                       [&](const auto& e) { return e.second.row.id == id; });
        });
    }
    void Step() {
        std::vector<Model> states = {model_};
        std::vector<std::vector<Change>> all;
        for (std::size_t i = 1 + Below(4); i > 0; --i) {
            states.push_back(states.back());
            all.push_back(NextBatch(states.back()));
        }
        const std::vector<BatchPtr> batches = MakeBatches(std::move(all));
        const bool stops = Once(6);
        if (stops) Stop();
        const std::vector<Result<void>> answers = Send(batches);
        if (stops) GoOn();
        const bool answered = std::ranges::all_of(answers, [](const auto& a) { return bool(a); });
        if (!answered && Once(2)) {
            std::unique_ptr<Store> deposed = std::move(store_);
            Reopen();
            Settle(states);
            std::swap(store_, deposed);
            const auto first = std::ranges::find_if(answers, [](const auto& a) { return !a; });
            const Result<void> late =
                CommitUntilDone(*batches[std::size_t(first - answers.begin())]);
            std::swap(store_, deposed);
            ASSERT_FALSE(late);
            ASSERT_EQ(late.error().code, ErrorCode::kFenced) << late.error().detail;
            return;
        }
        for (std::size_t i = 0; i < batches.size(); ++i) {
            const Result<void> done = answers[i] ? answers[i] : CommitUntilDone(*batches[i]);
            ASSERT_TRUE(done) << done.error().detail;
        }
        model_ = states.back();
    }

    std::mt19937_64 random_;
    Term term_;
    std::uint64_t sequence_ = 0;
    Execution run_;  // Goes on for ever; some of the others are part of it.
    Model model_;
    std::vector<Execution> late_;  // Whose serials are not the newest any more when they come.
    std::vector<ExecutionId> purged_;
    int made_ = 0;
    bool killed_ = false;
    std::size_t weight_ = 100;  // What rows of a batch are large by.
};

TEST_P(EtcdModelTest, EveryReadAgreesWithAPlainMap) {
    model_[run_.serial] = {run_, Place::kLive};
    for (int step = 0; step < kSteps && !HasFatalFailure(); ++step) {
        SCOPED_TRACE("step " + std::to_string(step));
        Step();
        if (!HasFatalFailure()) Check(model_);
        if (Once(15)) Reopen();
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, EtcdModelTest, testing::Values(1u, 2u, 3u));

}  // namespace
}  // namespace takt::internal::etcd
