#include "console/console.h"

#include <gtest/gtest.h>

#include "console/files.h"
#include "http/gunzip_testing.h"

namespace takt::internal {
namespace {

HttpRequest Get(std::string path, HttpHeaderList headers = {}) {
    HttpRequest request;
    request.path = path;
    request.raw_path = std::move(path);
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    return request;
}

const HttpHeaderList kBrowser = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"},
                                 {"Accept-Encoding", "gzip, deflate, br"}};

std::string_view HeaderOf(const HttpResponse& response, std::string_view name) {
    for (const auto& [key, value] : response.headers) {
        if (EqualsIgnoringCase(key, name)) return value;
    }
    return {};
}

// Somebody opens the scheduler's address in a browser.
TEST(ConsolePage, RootIsTheIndexUnderAStrictPolicy) {
    const auto page = ConsolePage(Get("/", kBrowser));

    ASSERT_TRUE(page);
    EXPECT_EQ(page->content_type, "text/html; charset=utf-8");
    const std::string_view policy = HeaderOf(*page, "Content-Security-Policy");
    EXPECT_NE(policy.find("default-src 'none'; script-src 'self';"), policy.npos);
    EXPECT_NE(policy.find("frame-ancestors 'none'"), policy.npos);
    EXPECT_EQ(HeaderOf(*page, "X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(HeaderOf(*page, "Cache-Control"), "no-cache");
}

// Somebody reloads the page of a task, or follows a link to it. Ids may have dots.
TEST(ConsolePage, AddressesOfPagesAreTheIndex) {
    for (const char* path : {"/tasks", "/tasks/nightly.v2", "/executions/0ahpmn5980000"}) {
        const auto page = ConsolePage(Get(path, kBrowser));
        ASSERT_TRUE(page) << path;
        EXPECT_EQ(page->content_type, "text/html; charset=utf-8") << path;
    }
}

// A program that asks for /tasks instead of /api/v1/tasks must not get a page with status 200.
TEST(ConsolePage, ProgramsGetNoPageForAWrongAddress) {
    EXPECT_FALSE(ConsolePage(Get("/tasks", {{"Accept", "*/*"}})));
    EXPECT_FALSE(ConsolePage(Get("/tasks")));
    EXPECT_FALSE(ConsolePage(Get("/api/v1/nothing", kBrowser)));
    EXPECT_FALSE(ConsolePage(Get("/assets/gone.js", kBrowser)));
    HttpRequest post = Get("/", kBrowser);
    post.method = HttpMethod::kPost;
    EXPECT_FALSE(ConsolePage(post));
}

TEST(ConsolePage, EveryFileIsFoundAndItsCompressedCopyIsTheSame) {
    ASSERT_FALSE(ConsoleFiles().empty());
    for (const ConsoleFile& file : ConsoleFiles()) {
        ASSERT_EQ(FindConsoleFile(file.path), &file) << file.path;
        EXPECT_EQ(file.immutable, file.path.starts_with("/assets/")) << file.path;
        if (file.gzip.empty()) continue;
        EXPECT_EQ(Gunzip(file.gzip), file.bytes) << file.path;
    }
}

// A browser that comes back asks whether its copy is still right.
TEST(ConsolePage, KnownFilesAreNotSentAgain) {
    const ConsoleFile* index = FindConsoleFile("/index.html");
    ASSERT_NE(index, nullptr);
    HttpHeaderList headers = kBrowser;
    headers.emplace_back("If-None-Match", index->etag);

    const auto page = ConsolePage(Get("/", headers));

    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 304);
    EXPECT_TRUE(page->static_body.empty());
}

TEST(ConsolePage, CompressedOnlyForThoseWhoCanReadIt) {
    const auto small = ConsolePage(Get("/", kBrowser));
    const auto plain = ConsolePage(Get("/", {{"Accept", "text/html"}}));
    ASSERT_TRUE(small && plain);
    EXPECT_EQ(HeaderOf(*small, "Content-Encoding"), "gzip");
    EXPECT_EQ(HeaderOf(*plain, "Content-Encoding"), "");
    EXPECT_TRUE(plain->static_body.starts_with("<!doctype html>"));
}

}  // namespace
}  // namespace takt::internal
