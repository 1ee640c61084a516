#include "links/attempt_tokens.h"

#include <gtest/gtest.h>

#include <optional>

namespace takt::internal {
namespace {

// An attempt is sent, sent again by the same leader, and ends: its token is known until then.
TEST(AttemptTokens, ATokenIsKnownAsLongAsSomebodyHoldsIt) {
    const auto tokens = std::make_shared<AttemptTokens>();
    const Token token{1, 2, 3};
    EXPECT_FALSE(tokens->Has(token));
    std::optional first = tokens->Add(token);
    AttemptTokens::Entry second = tokens->Add(token);
    first.reset();
    EXPECT_TRUE(tokens->Has(token));
    AttemptTokens::Entry moved = std::move(second);
    EXPECT_TRUE(tokens->Has(token));
    moved = AttemptTokens::Entry();
    EXPECT_FALSE(tokens->Has(token));
    EXPECT_FALSE(tokens->Has(Token{9}));
}

}  // namespace
}  // namespace takt::internal
