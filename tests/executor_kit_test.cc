// The API's origin: every command of the page that it comes from, with hosts and ids filled in.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "server/server.h"

namespace takt::internal {
namespace {

// Somebody follows the page that this API comes from, from the first command to the last, with the
// executors of examples/executor; a cron fire and its callback included.
TEST(ExecutorKit, EveryCommandWorksAsWritten) {
    const auto folder =
        std::filesystem::path(testing::TempDir()) / ("executor-kit-" + std::to_string(::getpid()));
    Config config;
    config.store.url = "file:" + folder.string();
    config.server.listen = "127.0.0.1:0";
    auto server = Server::Start(config);
    ASSERT_TRUE(server) << server.error().detail;
    const std::string command = TAKT_PYTHON " " TAKT_SOURCE "/tests/executor_kit.py " +
                                (*server)->url() +
                                " " TAKT_SOURCE "/examples/executor/executor.py " TAKT_EXECUTOR;
    EXPECT_EQ(std::system(command.c_str()), 0);
    (*server)->Stop();
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace takt::internal
