// takt help and takt version, for those who type words instead of flags.
#include <cstdio>

#include "base/nearest.h"
#include "cli/cli.h"
#include "takt/version.h"

namespace takt::internal::cli {
namespace {

// Prints the same as `takt COMMAND PART --help`; kUsage, with a sentence, if there is no such
// command.
int PrintHelp(const CLI::App& app, const std::vector<std::string>& words) {
    const CLI::App* at = &app;
    std::string path;
    for (const std::string& word : words) {
        const CLI::App* part = nullptr;
        std::vector<std::string> names;
        for (const CLI::App* one : at->get_subcommands([](const CLI::App*) { return true; })) {
            if (one->get_name() == word) part = one;
            names.push_back(one->get_name());
        }
        if (!part) {
            const std::string nearest(
                NearestName(word, std::vector<std::string_view>(names.begin(), names.end())));
            PrintError({ErrorCode::kInvalid,
                        "there is no command '" + word + "'" +
                            (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
                        ""});
            return kUsage;
        }
        path += (path.empty() ? "" : " ") + at->get_name();
        at = part;
    }
    // Not help(), which tells of the command that was chosen: of `takt help` that is itself.
    path += (path.empty() ? "" : " ") + at->get_name();
    std::fputs(at->get_formatter()->make_help(at, path, CLI::AppFormatMode::Normal).c_str(),
               stdout);
    return kOk;
}

}  // namespace

void AddHelp(CLI::App& app, Context& context) {
    auto words = std::make_shared<std::vector<std::string>>();
    CLI::App* help = app.add_subcommand("help", "Tells more about a command");
    help->add_option("command", *words, "Command, and a part of it");
    help->callback([&app, &context, words] { context.exit = PrintHelp(app, *words); });
    app.add_subcommand("version", "Prints the version")->callback([] {
        std::printf("takt %s\n", kVersion);
    });
}

}  // namespace takt::internal::cli
