#include "cli/formats.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "cli/output.h"

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

// --- YAML ---------------------------------------------------------------------------------------

std::string Indented(int depth) {
    return std::string(static_cast<std::size_t>(depth) * 2, ' ');
}

// A scalar of letters that no reader takes for a number, a truth, a time or syntax.
bool IsPlain(std::string_view text) {
    if (text.empty() || !((text[0] >= 'a' && text[0] <= 'z') ||
                          (text[0] >= 'A' && text[0] <= 'Z') || text[0] == '/')) {
        return false;
    }
    for (const std::string_view word :
         {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}) {
        const auto same = [](char a, char b) { return (a | 0x20) == b; };
        if (std::ranges::equal(text, word, same)) return false;
    }
    return std::ranges::all_of(text,
                               [](unsigned char c) {
                                   return c >= 0x80 || (c >= '0' && c <= '9') ||
                                          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                          c == '_' || c == '-' || c == '.' || c == '/' || c == ' ';
                               }) &&
           text.back() != ' ';
}

std::string Scalar(std::string_view text) {
    if (IsPlain(text)) return std::string(text);
    std::string quoted;  // JSON's quotes are YAML's.
    AppendJsonString(quoted, text);
    return quoted;
}

// Whether a block of lines shows it as it is.
bool IsBlock(std::string_view text) {
    return text.find('\n') != text.npos && text[0] != ' ' && text[0] != '\n' &&
           std::ranges::all_of(text, [](unsigned char c) { return c >= 0x20 || c == '\n'; });
}

std::string Block(std::string_view text, int depth) {
    std::string out = text.ends_with("\n\n") ? "|+\n" : text.ends_with('\n') ? "|\n" : "|-\n";
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (!line.empty()) out += Indented(depth) + std::string(line);
        out += '\n';
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return out;
}

void AppendYaml(std::string& out, const boost::json::value& value, int depth);

// Behind "name:" or "-".
void AppendBehind(std::string& out, const boost::json::value& value, int depth) {
    const auto* object = value.if_object();
    const auto* list = value.if_array();
    const bool nested = (object && !object->empty()) || (list && !list->empty());
    out += nested ? "\n" : " ";
    AppendYaml(out, value, depth);
}

void AppendYaml(std::string& out, const boost::json::value& value, int depth) {
    if (const auto* object = value.if_object(); object && !object->empty()) {
        for (const auto& member : *object) {
            out += Indented(depth) + Scalar(member.key()) + ":";
            AppendBehind(out, member.value(), depth + 1);
        }
    } else if (const auto* list = value.if_array(); list && !list->empty()) {
        for (const auto& item : *list) {
            const bool table = item.is_object() && !item.get_object().empty();
            if (!table) {
                out += Indented(depth) + "-";
                AppendBehind(out, item, depth + 1);
                continue;
            }
            // The first member stands on the line of the dash.
            std::string inner;
            AppendYaml(inner, item, depth + 1);
            inner[static_cast<std::size_t>(depth) * 2] = '-';
            out += inner;
        }
    } else if (const auto* text = value.if_string()) {
        out += IsBlock(*text) ? Block(*text, depth) : Scalar(*text) + "\n";
    } else {
        AppendJson(out, value);
        out += '\n';
    }
}

}  // namespace

std::string YamlText(const boost::json::value& value) {
    std::string out;
    AppendYaml(out, value, 0);
    return out;
}

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
        const auto value = ParseJson(line, {.bytes_max = line.size()});
        // A command that has no JSON for what it did says so in words.
        const std::string shown = value ? YamlText(*value) : std::string(line) + "\n";
        std::fwrite(shown.data(), 1, shown.size(), stdout);
    }
}

bool IsWide() {
    return wide_wanted;
}

OutputCapture::OutputCapture() {
    std::fflush(stdout);
    memory_ = memfd_create("output", MFD_CLOEXEC);
    before_ = dup(STDOUT_FILENO);
    TAKT_CHECK(memory_ >= 0 && before_ >= 0);
    dup2(memory_, STDOUT_FILENO);
}

std::string OutputCapture::Take() {
    if (before_ < 0) return {};
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
    before_ = -1;
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
