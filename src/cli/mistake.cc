// The sentence about a command line that is not understood.
#include <algorithm>
#include <span>
#include <string_view>

#include "base/nearest.h"
#include "cli/cli.h"

namespace takt::internal::cli {
namespace {

// The command, or the part of it, that was being read.
const CLI::App& InnermostOf(const CLI::App& app) {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return *at;
}

std::vector<std::string> NamesOf(const CLI::App& command, bool flags) {
    std::vector<std::string> names;
    // A part of a command takes its flags too.
    for (const CLI::App* at = &command; at; at = at->get_parent()) {
        for (const CLI::Option* option : at->get_options()) {
            if (!flags) break;
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
        for (const CLI::App* part : at->get_subcommands([](const CLI::App*) { return true; })) {
            if (!flags && at == &command) names.push_back(part->get_name());
        }
    }
    return names;
}

// A sentence that begins with a flag has the name by which that was given: some have several.
std::string AsGiven(const CLI::App& command, std::string sentence, std::span<char* const> words) {
    const std::string name = sentence.substr(0, sentence.find(": "));
    for (const CLI::App* at = &command; at && name.starts_with("--"); at = at->get_parent()) {
        const CLI::Option* option = at->get_option_no_throw(name);
        if (!option) continue;
        for (const std::string& other : option->get_lnames()) {
            const auto given = [flag = "--" + other](std::string_view word) {
                return word.substr(0, word.find('=')) == flag;
            };
            if (std::ranges::any_of(words, given))
                return "--" + other + sentence.substr(name.size());
        }
    }
    return sentence;
}

}  // namespace

Exit ExitOfMistake(const CLI::App& app, const CLI::ParseError& mistake,
                   std::span<char* const> words) {
    const CLI::App& command = InnermostOf(app);
    std::string sentence = AsGiven(command, mistake.what(), words);
    if (const auto left = app.remaining(true); !left.empty()) {
        const std::string& word = left.front();
        const bool flag = word.starts_with('-');
        const std::vector<std::string> names = NamesOf(command, flag);
        const std::vector<std::string_view> candidates(names.begin(), names.end());
        const std::string_view name = std::string_view(word).substr(0, word.find('='));
        const std::string_view nearest = NearestName(name, candidates);
        sentence = std::string("there is no ") + (flag ? "flag" : "command") + " '" + word + "'";
        if (name == nearest) {
            sentence = "the flag '" + std::string(nearest) + "' comes after the command";
        } else if (!nearest.empty()) {
            sentence += "; did you mean '" + std::string(nearest) + "'?";
        }
    }
    std::string path;
    for (const CLI::App* at = &command; at; at = at->get_parent()) {
        path = at->get_name() + (path.empty() ? "" : " " + path);
    }
    std::fprintf(stderr, "takt: %s (%s --help tells more)\n", sentence.c_str(), path.c_str());
    return kUsage;
}

}  // namespace takt::internal::cli
