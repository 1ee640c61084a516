#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <vector>

namespace takt::internal {
namespace {

// A failed simulation is run again with its seed number: all must happen again.
TEST(RandomTest, TheSameSeedGivesTheSameStream) {
    Random a(SeedOf(42));
    Random b(SeedOf(42));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.Next(), b.Next());
}

// Two nodes, or two simulations, must not walk in step.
TEST(RandomTest, OtherSeedsGiveOtherStreams) {
    Random a(SeedOf(1));
    Random b(SeedOf(2));
    EXPECT_NE(a.Next(), b.Next());
    EXPECT_NE(NewRandomSeed(), NewRandomSeed());
}

// The stream that seeds of published simulations rely on: AES-128-CTR of zeros, little-endian.
TEST(RandomTest, TheStreamIsTheOneThatIsDocumented) {
    Random random(RandomSeed{});
    std::array<std::uint8_t, 16> bytes;
    random.Fill(bytes);
    // FIPS-197's cipher of a zero block under a zero key.
    const std::array<std::uint8_t, 16> expected = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                                   0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
    EXPECT_EQ(bytes, expected);
}

// Tokens are taken in pieces; the pieces are the same stream.
TEST(RandomTest, ReadsOfAnySizeContinueTheStream) {
    Random whole(SeedOf(7));
    Random pieces(SeedOf(7));
    std::vector<std::uint8_t> expected(5000);
    whole.Fill(expected);
    std::vector<std::uint8_t> bytes(5000);
    std::size_t at = 0;
    for (std::size_t size = 0; at < bytes.size(); ++size) {
        const std::size_t count = std::min(size, bytes.size() - at);
        pieces.Fill(std::span(bytes).subspan(at, count));
        at += count;
    }
    EXPECT_EQ(bytes, expected);
}

// A worker is drawn among three: each is, and none beyond.
TEST(RandomTest, NumbersBelowABoundAreSpreadOverAllOfIt) {
    Random random(SeedOf(3));
    std::array<int, 3> counts{};
    for (int i = 0; i < 30'000; ++i) ++counts.at(random.Below(3));
    for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0u);
    std::set<std::uint64_t> large;
    for (int i = 0; i < 100; ++i) {
        large.insert(random.Below(std::numeric_limits<std::uint64_t>::max()));
    }
    EXPECT_EQ(large.size(), 100u);
}

TEST(RandomTest, FractionsAreFromZeroToBelowOne) {
    Random random(SeedOf(4));
    double sum = 0;
    for (int i = 0; i < 30'000; ++i) {
        const double fraction = random.Fraction();
        ASSERT_GE(fraction, 0.0);
        ASSERT_LT(fraction, 1.0);
        sum += fraction;
    }
    EXPECT_NEAR(sum / 30'000, 0.5, 0.02);
}

// To draw from nothing is a bug of ours, and must not go on with a wrong number.
TEST(RandomDeathTest, DrawingBelowZeroIsABrokenInvariant) {
    EXPECT_DEATH(Random(SeedOf(1)).Below(0), "broken invariant: bound > 0");
}

}  // namespace
}  // namespace takt::internal
