// Copies that backups read from, and those that a killed one leaves.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/embedded/store_fixture.h"

namespace takt::internal::embedded {
namespace {

namespace fs = std::filesystem;

class SnapshotTest : public EmbeddedStoreTest {
  protected:
    Result<std::unique_ptr<StoreSnapshot>> Take() {
        return SnapshotEmbedded({.directory = directory_.path()}, scratch_);
    }
    std::size_t CountOfCopies() const {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator(backups_.path()))
            count += entry.is_directory();
        return count;
    }
    fs::path Leave(const std::string& end, const std::string& file) const {
        const fs::path folder = scratch_ + end;
        fs::create_directory(folder);
        std::ofstream(folder / file) << "left";
        return folder;
    }

    const TemporaryDirectory backups_;
    const std::string scratch_ = backups_.path() + "/takt.backup.snapshot";
};

// `takt store backup` was killed: its copy, as large as the store, would lie there for ever.
TEST_F(SnapshotTest, TheNextOneRemovesWhatAKilledOneLeft) {
    const fs::path left = Leave("-a1B2c3", "takt.db");
    const fs::path other = Leave("-a1B2c4", "letter.txt");
    const fs::path longer = Leave("-a1B2c3-mine", "takt.db");
    auto taken = Take();
    ASSERT_TRUE(taken) << taken.error().detail;
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(other / "letter.txt")) << "nobody's copy";
    EXPECT_TRUE(fs::exists(longer));
    EXPECT_EQ(CountOfCopies(), 3u);
    taken->reset();
    EXPECT_EQ(CountOfCopies(), 2u) << "its own goes with it";
}

TEST_F(SnapshotTest, TheCopyOfOneThatIsAtWorkStays) {
    auto first = Take();
    ASSERT_TRUE(first) << first.error().detail;
    auto second = Take();
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_EQ(CountOfCopies(), 2u);
    using Rows = std::vector<SettingPut>;
    EXPECT_TRUE(Await<Rows>([&](Done<Rows> done) {
        (*first)->store().ListSettings(kDefaultPartition, "", std::move(done));
    }));
}

}  // namespace
}  // namespace takt::internal::embedded
