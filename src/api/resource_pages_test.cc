#include "api/resource_pages.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace takt::internal {
namespace {

// A user who writes a request by hand reads the page; it is made from the table.
TEST(ResourcePages, ThePagesListEveryField) {
    for (const auto& [file, title, made] : ResourcePages()) {
        const std::string path = std::string(TAKT_SOURCE_DIR) + "/docs/" + std::string(file);
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        std::string page = text.str();
        const std::string begin =
            "<!-- The fields of " + std::string(title) + ": made from the code. -->\n";
        const std::size_t at = page.find(begin);
        ASSERT_NE(at, page.npos) << path << " has no place for " << title;
        const std::size_t from = at + begin.size();
        const std::size_t to = page.find("<!-- End. -->\n", from);
        ASSERT_NE(to, page.npos) << path;
        if (std::getenv("TAKT_WRITE_PAGES")) {
            page.replace(from, to - from, made);
            std::ofstream(path) << page;
            continue;
        }
        EXPECT_EQ(page.substr(from, to - from), made)
            << "write it anew: TAKT_WRITE_PAGES=1 ./build/api_test "
               "--gtest_filter='ResourcePages.*'";
    }
}

}  // namespace
}  // namespace takt::internal
