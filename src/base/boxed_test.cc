#include "base/boxed.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <variant>

namespace takt::internal {
namespace {

// One kind of input is large and rare, and a hundred thousand of the others wait.
TEST(BoxedTest, AVariantIsAsSmallAsItsOtherValues) {
    using Large = std::array<char, 1000>;
    using Either = std::variant<int, Boxed<Large>>;
    EXPECT_LE(sizeof(Either), 2 * sizeof(void*));

    Either either = Large{'x'};
    ASSERT_EQ(either.index(), 1u);
    EXPECT_EQ(std::visit([](auto& value) { return sizeof(Unboxed(value)); }, either), 1000u);
    EXPECT_EQ((*std::get<1>(either))[0], 'x');
}

TEST(BoxedTest, ACopyIsAValueOfItsOwn) {
    const Boxed<std::string> first = std::string("first");
    Boxed<std::string> second = first;
    *second += " and second";

    EXPECT_EQ(*first, "first");
    EXPECT_EQ(*second, "first and second");
    second = first;
    EXPECT_EQ(*second, "first");
    const Boxed<std::string> third = std::move(second);
    EXPECT_EQ(*third, "first");
}

}  // namespace
}  // namespace takt::internal
