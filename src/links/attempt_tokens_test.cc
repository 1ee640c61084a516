#include "links/attempt_tokens.h"

#include <gtest/gtest.h>

#include <optional>

namespace takt::internal {
namespace {

// An attempt is sent, sent again by the same leader, and ends. The answer to its callback is lost, so
// that comes again, and must not be taken for a stranger's.
TEST(AttemptTokens, ATokenIsKnownWhileItIsHeldAndForAWhileAfterThat) {
    const auto tokens = std::make_shared<AttemptTokens>(3);
    const Token token{1, 2, 3};
    EXPECT_FALSE(tokens->Has(token));
    std::optional first = tokens->Add(token);
    AttemptTokens::Entry second = tokens->Add(token);
    first.reset();
    EXPECT_TRUE(tokens->Has(token));
    AttemptTokens::Entry moved = std::move(second);
    EXPECT_TRUE(tokens->Has(token));
    moved = AttemptTokens::Entry();
    EXPECT_TRUE(tokens->Has(token));
    for (std::uint8_t i = 10; i < 12; ++i) tokens->Add(Token{i});
    EXPECT_TRUE(tokens->Has(token));
    tokens->Add(Token{12});
    EXPECT_FALSE(tokens->Has(token));
    EXPECT_TRUE(tokens->Has(Token{10}));
    EXPECT_FALSE(tokens->Has(Token{9}));
}

}  // namespace
}  // namespace takt::internal
