#include "links/hello.h"

#include <gtest/gtest.h>

namespace takt::internal {
namespace {

using Names = std::vector<Text>;

// `takt worker` with all its handlers, and a token that an operator made for one of their types.
TEST(BindWorker, HandlersThatNobodyChoseAreNarrowedToTheTypesOfTheToken) {
    const AttachBounds bounds{.types = {"echo", "resize"}};
    Worker worker{.id = WorkerId("w"), .types = {"echo", "fail", "sleep"}};
    EXPECT_EQ(BindWorker(worker, true, bounds), "");
    EXPECT_EQ(worker.types, Names{"echo"});

    Worker chosen{.id = WorkerId("w"), .types = {"echo", "fail"}};
    EXPECT_EQ(BindWorker(chosen, false, bounds), "the token is not for the type fail");
    // None of them must not become all.
    Worker useless{.id = WorkerId("w"), .types = {"fail"}};
    EXPECT_EQ(BindWorker(useless, true, bounds),
              "the token is for none of the types that it can run");
    // A handler for whatever comes.
    Worker eager{.id = WorkerId("w")};
    EXPECT_EQ(BindWorker(eager, true, bounds), "");
    EXPECT_EQ(eager.types, (Names{"echo", "resize"}));
    Worker free{.id = WorkerId("w"), .types = {"fail"}};
    EXPECT_EQ(BindWorker(free, true, {}), "");
    EXPECT_EQ(free.types, Names{"fail"});
}

}  // namespace
}  // namespace takt::internal
