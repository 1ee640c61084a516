// Batches with so many new rows that several go into one statement.
#include "store/embedded/row_inserts.h"

#include <gtest/gtest.h>

#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

using conformance::Scheduled;
using conformance::Show;

class RowInsertsTest : public EmbeddedStoreTest {
  protected:
    // Enough for two statements of many and some of one.
    static constexpr std::size_t kMany = 2 * RowInserts::kTogether + 3;

    std::vector<Execution> NewRows(const std::string& name) {
        std::vector<Execution> rows;
        for (std::size_t i = 0; i < kMany; ++i) {
            Execution row = maker_.OneOff(name + std::to_string(i));
            row.payload = Text("\"" + name + std::string(i, 'x') + "\"");
            rows.push_back(std::move(row));
        }
        return rows;
    }
    static std::vector<Change> Inserts(const std::vector<Execution>& rows) {
        std::vector<Change> changes;
        for (const Execution& row : rows) {
            changes.emplace_back(ExecutionChange{Place::kNone, Place::kLive, row});
        }
        return changes;
    }
    // All that is stored of these.
    std::string Stored(const std::vector<Execution>& rows) {
        using Found = std::vector<std::optional<Execution>>;
        std::vector<ExecutionId> ids;
        for (const Execution& row : rows) ids.push_back(row.id);
        const auto found = Await<Found>([&](Done<Found> done) {
            store_->FindExecutions(kDefaultPartition, ids, std::move(done));
        });
        std::string shown;
        for (const auto& row : *found) shown += row ? Show(*row) + "\n" : "";
        return shown;
    }
    static std::string Shown(const std::vector<Execution>& rows) {
        std::string shown;
        for (const Execution& row : rows) shown += Show(row) + "\n";
        return shown;
    }

    RowMaker maker_;
};

// A flood: hundreds are submitted with one commit and finish with another, beside new ones.
TEST_F(RowInsertsTest, EachOfManyRowsIsStoredAsItIs) {
    const std::vector<Execution> first = NewRows("a");
    ASSERT_TRUE(Commit(1, Inserts(first)));
    EXPECT_EQ(Stored(first), Shown(first));

    const std::vector<Execution> second = NewRows("b");
    std::vector<Change> changes = Inserts(second);
    std::vector<Execution> finished;
    for (const Execution& row : first) {
        finished.push_back(Finished(Scheduled(row, "w")));
        changes.emplace_back(ExecutionChange{Place::kLive, Place::kHistory, finished.back()});
    }
    ASSERT_TRUE(Commit(2, std::move(changes)));

    EXPECT_EQ(Stored(first), Shown(finished));
    EXPECT_EQ(Stored(second), Shown(second));
}

// One row in the midst of the others cannot be: a bug of ours, which must not leave half a batch.
TEST_F(RowInsertsTest, ARowThatContradictsTakesItsWholeBatchWithIt) {
    const std::vector<Execution> first = NewRows("a");
    ASSERT_TRUE(Commit(1, Inserts(first)));
    std::vector<Execution> rows = NewRows("b");
    rows[RowInserts::kTogether + 5].id = first[3].id;

    const Result<void> refused = Commit(2, Inserts(rows));

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
    rows.erase(rows.begin() + RowInserts::kTogether + 5);
    EXPECT_EQ(Stored(rows), "");
    ASSERT_TRUE(Commit(2, Inserts(rows)));
    EXPECT_EQ(Stored(rows), Shown(rows));
}

// A batch is refused while new rows of it still wait to be written together.
TEST_F(RowInsertsTest, RowsOfARefusedBatchDoNotComeWithTheNext) {
    const Execution refused = maker_.OneOff("refused");
    const Execution absent = maker_.OneOff("absent");
    const Execution next = maker_.OneOff("next");

    EXPECT_FALSE(Commit(1, {ExecutionChange{Place::kNone, Place::kLive, refused},
                            ExecutionChange{Place::kLive, Place::kLive, absent}}));
    ASSERT_TRUE(Commit(1, {ExecutionChange{Place::kNone, Place::kLive, next}}));

    EXPECT_EQ(Stored({refused, absent}), "");
    EXPECT_EQ(Stored({next}), Shown({next}));
}

}  // namespace
}  // namespace takt::internal::embedded
