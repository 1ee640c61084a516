// Random commits beside a plain map: whatever is written, answered or not, by this leader or the one
// after it, each way of reading gives the rows of the map.
#include <algorithm>
#include <future>

#include "base/failpoint.h"
#include "store/etcd/random_fixture.h"
#include "store/matches.h"

namespace takt::internal::etcd {
namespace {

using conformance::Show;

// Small, so that windows and pages end in all places.
constexpr std::size_t kLoadPageRows = 23;
constexpr int kSteps = 30;

class EtcdModelTest : public EtcdRandomTest, public testing::WithParamInterface<unsigned> {
  protected:
    void SetUp() override {
        random_.seed(GetParam() + 1000 * testing::UnitTest::GetInstance()->random_seed());
        StartServer();
        Reopen();
        run_ = make_.Fire("flow", "the-run");
        Commit({{ExecutionChange{Place::kNone, Place::kLive, run_}}});
    }

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
    // As a node does it: the very same batches again, from the first that was not answered on.
    void Repeat(std::vector<BatchPtr> batches, const std::vector<Result<void>>& answers) {
        const auto first = std::ranges::find_if(answers, [](const auto& a) { return !a; });
        batches.erase(batches.begin(), batches.begin() + (first - answers.begin()));
        for (int i = 0; i < 20 && !batches.empty(); ++i) {
            const std::size_t together = Once(2) ? 1 : batches.size();
            const auto end = batches.begin() + static_cast<std::ptrdiff_t>(together);
            const std::vector<Result<void>> again = Send({batches.begin(), end});
            const auto left = std::ranges::find_if(again, [](const auto& a) { return !a; });
            if (left != again.end()) {
                const ErrorCode code = left->error().code;
                ASSERT_TRUE(code == ErrorCode::kUnknown || code == ErrorCode::kUnavailable)
                    << left->error().detail;
            }
            batches.erase(batches.begin(), batches.begin() + (left - again.begin()));
        }
        ASSERT_TRUE(batches.empty());
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
    // One of the next transactions does not reach etcd, or its answer does not come back.
    std::string AnyLoss() {
        const std::string which = Once(3) ? "store.etcd.request" : "store.etcd.answer";
        return which + ":error:" + std::to_string(1 + Below(3));
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
        const bool loses = !stops && Once(4);
        if (loses) ASSERT_TRUE(SetFailPoints(AnyLoss()));
        const std::vector<Result<void>> answers = Send(batches);
        if (loses) ASSERT_TRUE(SetFailPoints(""));
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
        Repeat(batches, answers);
        model_ = states.back();
    }

    Term term_;
    std::uint64_t sequence_ = 0;
    Model model_;
    bool killed_ = false;
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
