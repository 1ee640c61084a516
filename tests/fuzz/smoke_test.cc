// Every fuzz target, briefly, in the ordinary build: its seeds and some thousands of inputs that
// are nearly right. The same inputs each time, so that what fails here fails again; `./dev fuzz`
// looks further, with sanitizers and coverage.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

// The targets' entries, renamed by CMakeLists.txt.
extern "C" {
int FuzzCallback(const std::uint8_t* bytes, std::size_t size);
int FuzzCron(const std::uint8_t* bytes, std::size_t size);
int FuzzHttpHead(const std::uint8_t* bytes, std::size_t size);
int FuzzJson(const std::uint8_t* bytes, std::size_t size);
int FuzzRecord(const std::uint8_t* bytes, std::size_t size);
int FuzzTaskJson(const std::uint8_t* bytes, std::size_t size);
int FuzzWorkerFrame(const std::uint8_t* bytes, std::size_t size);
}

namespace takt::internal {
namespace {

struct Target {
    std::string_view name;  // Of its folder of seeds.
    int (*run)(const std::uint8_t*, std::size_t);
};
void PrintTo(const Target& target, std::ostream* out) {
    *out << target.name;
}
constexpr std::array<Target, 7> kTargets = {{{"callback", FuzzCallback},
                                             {"cron", FuzzCron},
                                             {"http_head", FuzzHttpHead},
                                             {"json", FuzzJson},
                                             {"record", FuzzRecord},
                                             {"task_json", FuzzTaskJson},
                                             {"worker_frame", FuzzWorkerFrame}}};

constexpr int kMutants = 4'000;  // A second or two for the slowest target.
constexpr std::size_t kInputBytesMax = 4'096;

// Texts that break parsers.
constexpr std::array<std::string_view, 20> kTokens = {"\"",
                                                      "\\",
                                                      "{",
                                                      "}",
                                                      "[",
                                                      "]",
                                                      "\r\n",
                                                      "\r\n\r\n",
                                                      ":",
                                                      ",",
                                                      "-1",
                                                      "1e400",
                                                      "18446744073709551616",
                                                      "\\u0000",
                                                      "\\ud800",
                                                      "null",
                                                      "\xff",
                                                      "%00",
                                                      "Transfer-Encoding: chunked",
                                                      "* * * * *"};

class Mutator {
  public:
    Mutator(std::vector<std::string> seeds, std::uint64_t number)
        : seeds_(std::move(seeds)), random_(SeedOf(number)) {}

    std::string Next() {
        std::string input = Pick();
        for (std::uint64_t changes = 1 + random_.Below(4); changes > 0; --changes) Change(input);
        input.resize(std::min(input.size(), kInputBytesMax));
        return input;
    }

  private:
    const std::string& Pick() { return seeds_[random_.Below(seeds_.size())]; }
    std::size_t Place(const std::string& input) { return random_.Below(input.size() + 1); }

    void Change(std::string& input) {
        const std::size_t at = Place(input);
        const std::size_t count = std::min<std::size_t>(random_.Below(16), input.size() - at);
        switch (random_.Below(6)) {
            case 0:
                if (at < input.size()) input[at] ^= static_cast<char>(1 << random_.Below(8));
                break;
            case 1:
                input.erase(at, count);
                break;
            case 2:
                input.insert(at, input.substr(at, count));
                break;
            case 3:
                input.insert(at, kTokens[random_.Below(kTokens.size())]);
                break;
            case 4: {
                const std::string& other = Pick();
                input = input.substr(0, at) + other.substr(Place(other));
                break;
            }
            default:
                input.resize(at);
                break;
        }
    }

    const std::vector<std::string> seeds_;
    Random random_;
};

std::vector<std::string> SeedsOf(std::string_view target) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(TAKT_CORPUS) / target)) {
        paths.push_back(entry.path());
    }
    std::ranges::sort(paths);  // A directory has no order of its own.
    std::vector<std::string> seeds;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return seeds;
}

class FuzzSmoke : public ::testing::TestWithParam<Target> {};

// A stranger sends what is nearly right. A target ends the process when it finds something.
TEST_P(FuzzSmoke, WhatIsNearlyRightDoesNoHarm) {
    const std::vector<std::string> seeds = SeedsOf(GetParam().name);
    ASSERT_FALSE(seeds.empty());
    const auto run = [&](const std::string& input) {
        GetParam().run(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    };
    for (const std::string& seed : seeds) run(seed);
    Mutator mutator(seeds, 1);
    for (int i = 0; i < kMutants; ++i) run(mutator.Next());
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzSmoke, ::testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace takt::internal
