#include "base/text.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

namespace takt::internal {
namespace {

// A million executions without a worker hold no worker id: nothing must cost nothing.
TEST(TextTest, AnEmptyTextHoldsNoMemory) {
    EXPECT_EQ(sizeof(Text), sizeof(void*));
    EXPECT_EQ(Text("").view().data(), nullptr);
    EXPECT_TRUE(Text().empty());
    EXPECT_EQ(Text(), Text(""));
}

// A payload travels from the submit to the store and to a worker.
TEST(TextTest, CopiesShareTheirBytes) {
    const Text original = std::string(1000, 'x');
    const Text copy = original;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_EQ(copy.view().data(), original.view().data());
    Text assigned;
    assigned = copy;
    EXPECT_EQ(assigned.view().data(), original.view().data());
}

TEST(TextTest, TheLastOwnerKeepsTheBytes) {
    Text survivor;
    {
        const Text first("payload");
        survivor = first;
    }
    EXPECT_EQ(survivor, "payload");
    Text moved = std::move(survivor);
    EXPECT_EQ(moved, "payload");
    Text& alias = moved;
    moved = alias;
    EXPECT_EQ(moved, "payload");
    moved = Text("next");
    EXPECT_EQ(moved, "next");
}

// Payloads are bytes as given, zeros included.
TEST(TextTest, BytesAreKeptAsGiven) {
    const std::string bytes("a\0b\xff", 4);
    EXPECT_EQ(Text(bytes).str(), bytes);
    EXPECT_EQ(Text(bytes).size(), 4u);
    EXPECT_NE(Text(bytes), Text("a"));
}

// Lists are shown in the order of ids, which must be the order of their bytes.
TEST(TextTest, TextsAreOrderedByTheirBytes) {
    EXPECT_LT(Text(""), Text("a"));
    EXPECT_LT(Text("a"), Text("ab"));
    EXPECT_LT(Text("ab"), Text("b"));
    EXPECT_LT(Text("z"), Text("\xc3\xbc"));
}

// The engine looks ids up by what a request says, without making a Text of it.
TEST(TextTest, HashedContainersFindATextByAView) {
    std::unordered_map<Text, int, TextHash, TextEqual> index;
    index[Text("e-1")] = 1;
    EXPECT_TRUE(index.contains(std::string_view("e-1")));
    EXPECT_FALSE(index.contains(std::string_view("e-2")));
}

// The store's threads drop the rows of a batch while the engine still holds them.
TEST(TextTest, ThreadsShareATextSafely) {
    const Text shared = std::string(100, 's');
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([shared] {
            for (int round = 0; round < 20'000; ++round) {
                Text copy = shared;
                Text other = std::move(copy);
                ASSERT_EQ(other.size(), 100u);
            }
        });
    }
    threads.clear();
    EXPECT_EQ(shared.view(), std::string(100, 's'));
}

}  // namespace
}  // namespace takt::internal
