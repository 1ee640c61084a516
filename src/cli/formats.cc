#include "cli/formats.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "base/json_view.h"
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

// Makes YAML of what is printed. A reader of events sees each at once.
class YamlOutput {
  public:
    YamlOutput() {
        redirect_.emplace([this](std::string_view piece) { return Write(lines_.Convert(piece)); });
    }

    Result<void> End() {
        redirect_.reset();
        if (lost_ == 0) Write(lines_.End());
        if (lost_ == 0 || lost_ == EPIPE) return {};
        return Fail(ErrorCode::kUnavailable,
                    std::string("the output could not be written: ") + std::strerror(lost_));
    }

  private:
    bool Write(const std::string& text) {
        if (std::fwrite(text.data(), 1, text.size(), to_) == text.size() && std::fflush(to_) == 0) {
            return true;
        }
        if (lost_ == 0) lost_ = errno;
        return false;
    }

    std::FILE* const to_ = stdout;
    YamlLines lines_;
    int lost_ = 0;  // The errno of the first write that failed.
    std::optional<OutputRedirect> redirect_;
};

bool wide_wanted = false;
std::unique_ptr<YamlOutput> yaml_wanted;

bool HasOwn(const CLI::App& command) {
    if (command.get_option_no_throw("-o")) return true;
    for (const CLI::App* part : command.get_subcommands([](const CLI::App*) { return true; })) {
        if (part->get_option_no_throw("-o")) return true;
    }
    return false;
}

}  // namespace

void RegisterFormats(CLI::App& command, bool& json) {
    Registry().push_back({&command, &json});
}

void UseFormat(const std::string& format, bool& json) {
    wide_wanted = format == "wide";
    json = format == "json" || format == "yaml";
    if (format != "yaml" || yaml_wanted) return;
    yaml_wanted = std::make_unique<YamlOutput>();
}

void AddFormatFlags() {
    for (const Registered& one : Registry()) {
        if (HasOwn(*one.command)) continue;
        one.command
            ->add_option_function<std::string>(
                "-o,--output",
                [json = one.json](const std::string& format) { UseFormat(format, *json); },
                "table, wide, json or yaml")
            ->check(CLI::IsMember({"table", "text", "wide", "json", "yaml"}))
            ->trigger_on_parse()
            ->group("Connection");
    }
}

Result<bool> EndYaml() {
    const auto ended = std::exchange(yaml_wanted, nullptr);
    if (!ended) return false;
    if (auto written = ended->End(); !written) return std::unexpected(written.error());
    return true;
}

bool IsWide() {
    return wide_wanted;
}

std::string YamlLines::Convert(std::string_view piece) {
    std::string text;
    for (std::size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;) {
        line_ += piece.substr(0, end);
        piece.remove_prefix(end + 1);
        text += End();
    }
    line_ += piece;
    return text;
}

std::string YamlLines::End() {
    const std::string line = std::exchange(line_, {});
    if (line.empty()) return {};
    const std::string parted = std::exchange(first_, false) ? "" : "---\n";
    // A command that has no JSON for what it did says so in words.
    const bool json = CheckJson(line, {.bytes_max = line.size()}).has_value();
    return parted + (json ? YamlText(JsonView(line)) : line + "\n");
}

// Standard output and error are variables of the C library, whose functions read them at each call.
OutputRedirect::OutputRedirect(Take take, bool hints)
    : take_(std::move(take)), output_before_(stdout), errors_before_(stderr) {
    const auto write = [](void* self, const char* text, std::size_t size) -> ssize_t {
        const bool taken = static_cast<OutputRedirect*>(self)->take_({text, size});
        return taken ? static_cast<ssize_t>(size) : 0;
    };
    stream_ = fopencookie(this, "w",
                          {.read = nullptr, .write = write, .seek = nullptr, .close = nullptr});
    TAKT_CHECK(stream_);
    std::setvbuf(stream_, nullptr, _IOLBF, BUFSIZ);
    stdout = stream_;
    if (hints) stderr = stream_;
}

OutputRedirect::~OutputRedirect() {
    std::fclose(stream_);
    stdout = output_before_;
    stderr = errors_before_;
}

}  // namespace takt::internal::cli
