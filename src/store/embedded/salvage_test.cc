// A disk has damaged pages of takt.db and nobody has a backup: what can be read is kept.
#include "store/embedded/salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

constexpr std::size_t kPage = 8192;
constexpr int kRows = 2'000;
// First bytes of pages, as SQLite's file format has them.
constexpr char kTableLeaf = 0x0D;
constexpr char kIndexLeaf = 0x0A;

class SalvageTest : public EmbeddedStoreTest {
  protected:
    void SetUp() override {
        EmbeddedStoreTest::SetUp();
        RowMaker make;
        std::vector<Change> rows;
        for (int i = 0; i < kRows; ++i) {
            rows.push_back(
                ExecutionChange{Place::kNone, Place::kHistory, Finished(make.OneOff(Id(i)))});
        }
        rows.push_back(SettingPut{"kept", "yes"});
        ASSERT_TRUE(Commit(1, std::move(rows)));
        store_.reset();
        file_ = directory_.path() + "/takt.db";
    }

    static std::string Id(int number) { return "row-" + std::to_string(10'000 + number); }

    std::string Bytes() const {
        std::ifstream in(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    // Overwrites the page of that kind on which the text stands.
    void Overwrite(char kind, const std::string& text) {
        std::string bytes = Bytes();
        for (std::size_t at = 0; at < bytes.size(); at += kPage) {
            if (bytes[at] != kind || !bytes.substr(at, kPage).contains(text)) continue;
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\xA5');
            std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
            return;
        }
        FAIL() << "no such page has " << text;
    }

    Result<std::vector<std::string>> Damage() { return DamageOfEmbedded(Options()); }
    EmbeddedOptions Options() const { return {.directory = directory_.path()}; }

    bool Has(int number) {
        using Rows = std::vector<std::optional<Execution>>;
        const auto rows = Await<Rows>([&](Done<Rows> done) {
            store_->FindExecutions(kDefaultPartition, {ExecutionId(Id(number))}, std::move(done));
        });
        return rows && rows->front().has_value();
    }

    std::string file_;
};

const SalvagedTable& TableOf(const Salvaged& salvaged, const std::string& name) {
    return *std::ranges::find(salvaged.tables, name, &SalvagedTable::name);
}

TEST_F(SalvageTest, RowsOfPagesThatCanBeReadAreKept) {
    EXPECT_TRUE(Damage()->empty());
    // The first, the last, and two with a few whole pages between them.
    for (const int number : {0, 1'000, 1'100, kRows - 1}) Overwrite(kTableLeaf, Id(number));
    const std::string damaged = Bytes();
    EXPECT_FALSE(OpenEmbedded(Options()));
    EXPECT_FALSE(Damage()->empty());

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_GE(TableOf(*salvaged, "history").gaps, 1u);
    EXPECT_GT(TableOf(*salvaged, "history").rows, kRows - 4u * 60);
    EXPECT_EQ(TableOf(*salvaged, "settings").gaps, 0u);
    file_ = salvaged->kept;
    EXPECT_TRUE(Bytes() == damaged) << "the damaged file was changed";
    EXPECT_TRUE(Damage()->empty());
    Open();
    EXPECT_GE(Settings(), 1u);
    for (const int number : {0, 1'000, 1'100, kRows - 1}) EXPECT_FALSE(Has(number)) << number;
    for (const int number : {100, 900, 1'050, 1'200, kRows - 100})
        EXPECT_TRUE(Has(number)) << number;
}

TEST_F(SalvageTest, DamagedIndexesCostNothing) {
    Overwrite(kIndexLeaf, Id(500));
    EXPECT_FALSE(Damage()->empty());

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_TRUE(salvaged) << salvaged.error().detail;
    EXPECT_EQ(TableOf(*salvaged, "history").rows, std::uint64_t(kRows));
    EXPECT_EQ(salvaged->gaps(), 0u);
    Open();
    EXPECT_TRUE(Has(500));
}

// A second damage must not replace what was kept of the first.
TEST_F(SalvageTest, NothingThatWasKeptIsReplaced) {
    Overwrite(kTableLeaf, Id(500));
    const auto first = SalvageEmbedded(Options());
    ASSERT_TRUE(first) << first.error().detail;
    const auto second = SalvageEmbedded(Options());
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_NE(first->kept, second->kept);
    EXPECT_TRUE(std::filesystem::exists(first->kept));
}

TEST_F(SalvageTest, AFileWithoutItsListOfTablesIsLeftAsItIs) {
    std::string bytes = Bytes();
    std::fill(bytes.begin() + 100, bytes.begin() + kPage, '\0');
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;

    const auto salvaged = SalvageEmbedded(Options());

    ASSERT_FALSE(salvaged);
    EXPECT_THAT(salvaged.error().detail, testing::HasSubstr("Restore it from a backup"));
    EXPECT_TRUE(Bytes() == bytes);
    EXPECT_FALSE(std::filesystem::exists(file_ + ".repaired"));
}

TEST_F(SalvageTest, ADirectoryInUseIsLeftAlone) {
    Open();
    EXPECT_EQ(Damage().error().code, ErrorCode::kConflict);
    EXPECT_EQ(SalvageEmbedded(Options()).error().code, ErrorCode::kConflict);
}

}  // namespace
}  // namespace takt::internal::embedded
