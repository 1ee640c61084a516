#include "signin/seal.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

constexpr Time kSealedAt{Duration(1'000'000)};
constexpr Time kUntil{Duration(2'000'000)};

TEST(SealTest, OpensWhatItClosed) {
    const Seal seal(std::string(32, 'k'));
    const auto opened =
        seal.Open("a", seal.Close("a", "text. with \n anything", kUntil), kSealedAt);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->text, "text. with \n anything");
    EXPECT_EQ(opened->until, kUntil);
}

TEST(SealTest, OpensNothingElse) {
    const Seal seal(std::string(32, 'k'));
    const Seal other(std::string(32, 'o'));
    const std::string sealed = seal.Close("a", "text", kUntil);
    EXPECT_FALSE(seal.Open("a", sealed, kUntil)) << "its time is over";
    EXPECT_FALSE(seal.Open("b", sealed, kSealedAt)) << "another purpose";
    EXPECT_FALSE(seal.Open("", sealed, kSealedAt));
    EXPECT_FALSE(other.Open("a", sealed, kSealedAt)) << "another key";
    EXPECT_FALSE(seal.Open("a", "", kSealedAt));
    EXPECT_FALSE(seal.Open("a", "a.2000000.dGV4dA", kSealedAt)) << "no signature";
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        std::string changed = sealed;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(seal.Open("a", changed, kSealedAt)) << changed;
    }
}

}  // namespace
}  // namespace takt::internal
