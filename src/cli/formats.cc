#include "cli/formats.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/json_view.h"
#include "cli/output.h"
#include "definitions/yaml_text.h"

namespace takt::internal::cli {
namespace {

struct Registered {
    CLI::App* command;
    bool* json;
};

std::vector<Registered>& Registry() {
    static std::vector<Registered> registry;
    return registry;
}

bool wide_wanted = false;
std::unique_ptr<OutputCapture> yaml_wanted;

bool HasOwn(const CLI::App& command) {
    if (command.get_option_no_throw("-o")) return true;
    for (const CLI::App* part : command.get_subcommands([](const CLI::App*) { return true; })) {
        if (part->get_option_no_throw("-o")) return true;
    }
    return false;
}

void Choose(const std::string& format, bool& json) {
    wide_wanted = format == "wide";
    json = format == "json" || format == "yaml";
    if (format == "yaml" && !yaml_wanted) {
        UseColour();  // Decided by the terminal that is there before.
        yaml_wanted = std::make_unique<OutputCapture>();
    }
}

}  // namespace

void RegisterFormats(CLI::App& command, bool& json) {
    Registry().push_back({&command, &json});
}

void AddFormatFlags() {
    for (const Registered& one : Registry()) {
        if (HasOwn(*one.command)) continue;
        one.command
            ->add_option_function<std::string>(
                "-o,--output",
                [json = one.json](const std::string& format) { Choose(format, *json); },
                "table, wide, json or yaml")
            ->check(CLI::IsMember({"table", "wide", "json", "yaml"}))
            ->trigger_on_parse()
            ->group("Connection");
    }
}

void FinishFormats() {
    if (!yaml_wanted) return;
    const std::string text = yaml_wanted->Take();
    yaml_wanted.reset();
    bool first = true;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.empty()) continue;
        if (!first) std::fputs("---\n", stdout);
        first = false;
        // A command that has no JSON for what it did says so in words.
        const bool json = CheckJson(line, {.bytes_max = line.size()}).has_value();
        const std::string shown = json ? YamlText(JsonView(line)) : std::string(line) + "\n";
        std::fwrite(shown.data(), 1, shown.size(), stdout);
    }
}

bool IsWide() {
    return wide_wanted;
}

OutputCapture::OutputCapture(bool hints) {
    std::fflush(stdout);
    memory_ = memfd_create("output", MFD_CLOEXEC);
    before_ = dup(STDOUT_FILENO);
    TAKT_CHECK(memory_ >= 0 && before_ >= 0);
    dup2(memory_, STDOUT_FILENO);
    if (!hints) return;
    errors_before_ = dup(STDERR_FILENO);
    dup2(memory_, STDERR_FILENO);
}

std::string OutputCapture::Take() {
    if (before_ < 0) return {};
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
    before_ = -1;
    if (errors_before_ >= 0) {
        dup2(errors_before_, STDERR_FILENO);
        close(errors_before_);
        errors_before_ = -1;
    }
    std::string text;
    char piece[65536];
    lseek(memory_, 0, SEEK_SET);
    for (ssize_t count = 0; (count = read(memory_, piece, sizeof piece)) > 0;) {
        text.append(piece, static_cast<std::size_t>(count));
    }
    return text;
}

OutputCapture::~OutputCapture() {
    if (before_ >= 0) {
        const std::string text = Take();
        std::fwrite(text.data(), 1, text.size(), stdout);
    }
    close(memory_);
}

}  // namespace takt::internal::cli
