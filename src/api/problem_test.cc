#include "api/problem.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace takt::internal {
namespace {

const std::filesystem::path kSource = TAKT_SOURCE_DIR;

std::string TextOf(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::set<std::string> Found(const std::string& text, const std::string& pattern) {
    const std::regex expression(pattern);
    std::set<std::string> found;
    for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i) {
        found.insert((*i)[1].str());
    }
    return found;
}

std::set<std::string> Titled() {
    std::set<std::string> codes;
    for (const ProblemTitle& known : ProblemTitles()) {
        EXPECT_TRUE(codes.insert(std::string(known.code)).second) << known.code;
        EXPECT_FALSE(known.title.empty());
    }
    return codes;
}

// A caller reads "something is wrong on our side" and searches there, though the fault is theirs.
TEST(Problem, EveryCodeThatIsAnsweredHasATitle) {
    std::set<std::string> used;
    for (const char* folder : {"src/api", "src/server"}) {
        for (const auto& file : std::filesystem::directory_iterator(kSource / folder)) {
            const std::string name = file.path().filename();
            if (!name.ends_with(".cc") || name.ends_with("_test.cc")) continue;
            used.merge(Found(TextOf(file), R"re((?:\{[45]\d\d,|\bcode =)\s+"([a-z_]+)")re"));
        }
    }
    EXPECT_TRUE(used.contains("origin_refused"));
    const std::set<std::string> titled = Titled();
    for (const std::string& code : used) EXPECT_TRUE(titled.contains(code)) << code;
}

TEST(Problem, EveryCodeIsInTheDocumentation) {
    std::string page = TextOf(kSource / "docs/api.md");
    page.erase(0, page.find("\n## Errors"));
    std::set<std::string> told;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        // | status | `code` `code` | what to do |
        const std::size_t first = line.find('|', 1);
        if (!line.starts_with("| ") || first == line.npos) continue;
        told.merge(Found(line.substr(first, line.find('|', first + 1) - first), "`([a-z_]+)`"));
    }
    EXPECT_EQ(told, Titled());
}

TEST(Problem, APageOfAnotherSiteIsToldThatItIsOne) {
    const HttpResponse answer = ProblemResponse({403, "origin_refused", "why"}, "");
    EXPECT_NE(answer.body.find("Pages of other sites may not ask"), std::string::npos)
        << answer.body;
}

}  // namespace
}  // namespace takt::internal
