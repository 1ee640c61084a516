#include "base/error.h"

#include <gtest/gtest.h>

#include <set>

namespace takt::internal {
namespace {

// The `code` of a problem answer is what clients branch on.
TEST(ErrorTest, EveryCodeHasItsOwnName) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(ErrorCode::kCancelled); ++i) {
        names.insert(Name(static_cast<ErrorCode>(i)));
    }
    EXPECT_EQ(names.size(), 8u);
    EXPECT_FALSE(names.contains("invalid_code"));
    EXPECT_EQ(Name(ErrorCode::kNotFound), "not_found");
    EXPECT_EQ(Name(static_cast<ErrorCode>(200)), "invalid_code");
}

TEST(ErrorTest, AFailureCarriesItsDetailAndField) {
    const Result<int> result = Fail(ErrorCode::kInvalid, "priority is 0 to 9", "priority");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(result.error().detail, "priority is 0 to 9");
    EXPECT_EQ(result.error().field, "priority");
}

}  // namespace
}  // namespace takt::internal
