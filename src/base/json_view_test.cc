#include "base/json_view.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

TEST(JsonView, FindsEverythingInPlace) {
    const std::string text =
        R"( {"a" : [ 1 , -2.5e1, "x\"]}" ], "b\u0041\n":{ }, "":true,"n":null} )";
    const JsonView view(text);
    JsonView::Members members(view);
    ASSERT_TRUE(members.Next());
    EXPECT_EQ(members.key(), "a");
    JsonView::Elements elements(members.value());
    ASSERT_TRUE(elements.Next());
    EXPECT_EQ(elements.value().AsInteger(), 1);
    ASSERT_TRUE(elements.Next());
    EXPECT_EQ(elements.value().AsDouble(), -25);
    EXPECT_EQ(elements.value().AsInteger(), std::nullopt);
    ASSERT_TRUE(elements.Next());
    std::string scratch;
    EXPECT_EQ(elements.value().AsString(scratch), "x\"]}");
    EXPECT_FALSE(elements.Next());
    ASSERT_TRUE(members.Next());
    EXPECT_EQ(members.key(), "bA\n");
    EXPECT_EQ(members.value().raw(), "{ }");
    ASSERT_TRUE(members.Next());
    EXPECT_EQ(members.key(), "");
    EXPECT_EQ(members.value().AsBool(), true);
    ASSERT_TRUE(members.Next());
    EXPECT_TRUE(members.value().is_null());
    EXPECT_FALSE(members.Next());
}

}  // namespace
}  // namespace takt::internal
