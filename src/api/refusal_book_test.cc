#include "api/refusal_book.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

AuditEntry Refused(std::string token, std::string action, std::string address = "") {
    return {.act = {.token_id = std::move(token),
                    .action = std::move(action),
                    .address = std::move(address)},
            .refusals = 1,
            .status = 403};
}

TEST(RefusalBook, CountsByTokenAndAction) {
    RefusalBook book;
    EXPECT_TRUE(book.Add(Refused("a", "x", "1")));
    EXPECT_FALSE(book.Add(Refused("a", "x", "2")));
    EXPECT_FALSE(book.Add(Refused("a", "y")));
    EXPECT_FALSE(book.Add(Refused("b", "x")));
    const auto all = book.TakeAll();

    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].refusals, 2u);
    EXPECT_EQ(all[0].act.address, "2");
    EXPECT_TRUE(book.Add(Refused("a", "x"))) << "the next minute begins";
}

TEST(RefusalBook, HoldsOnlySoMuch) {
    RefusalBook book;
    for (std::size_t i = 0; i < RefusalBook::kTalliesMax + 10; ++i) {
        book.Add(Refused(std::to_string(i), "x"));
    }
    EXPECT_EQ(book.TakeAll().size(), RefusalBook::kTalliesMax);
}

}  // namespace
}  // namespace takt::internal
