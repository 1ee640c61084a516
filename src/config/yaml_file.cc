// Reads a configuration file.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/broken_utf8.h"
#include "base/mistakes.h"
#include "config/config.h"

namespace takt::internal {
namespace {

std::string At(const std::string& path, const YAML::Mark& mark) {
    return path + (mark.is_null() ? "" : ":" + std::to_string(mark.line + 1));
}

// A list or map of YAML, spelled as flags spell it.
std::string Flatten(const YAML::Node& node) {
    if (node.IsScalar()) return node.Scalar();
    std::string text;
    for (const auto& item : node) {
        if (!text.empty()) text += ',';
        text += node.IsMap() ? item.first.Scalar() + "=" + item.second.Scalar() : item.Scalar();
    }
    return text;
}

// Whether a list or map holds nothing but plain values.
bool IsFlat(const YAML::Node& node) {
    if (node.IsScalar()) return true;
    return std::all_of(node.begin(), node.end(), [&](const auto& item) {
        return node.IsMap() ? item.first.IsScalar() && item.second.IsScalar() : item.IsScalar();
    });
}

// The first name that stands twice in a map; empty if none does. YAML forbids it, yaml-cpp takes
// it.
std::string GivenTwice(const YAML::Node& map) {
    std::map<std::string, int> count;
    for (const auto& item : map) {
        if (++count[item.first.Scalar()] > 1) return item.first.Scalar();
    }
    return {};
}

// A buffer of the standard library throws what the stream would note: of a disk that fails.
std::optional<std::string> ReadText(const std::string& path) {
    try {
        std::ifstream file(path, std::ios::binary);
        std::string text(std::istreambuf_iterator<char>(file), {});
        if (!file.is_open() || file.bad()) return std::nullopt;
        return text;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

class FileReader {
  public:
    FileReader(Config& config, const std::string& path) : config_(config), path_(path) {}

    void ReadSection(const YAML::Node& section, const std::string& prefix) {
        std::map<std::string, int> lines;
        for (const auto& item : section) {
            const std::string name = prefix + item.first.Scalar();
            const auto [first, fresh] = lines.emplace(name, item.first.Mark().line + 1);
            if (!fresh) {
                AddMistake(item.first, name,
                           name + " stands here again, after line " +
                               std::to_string(first->second) + ": give it once");
            } else if (item.second.IsMap() && KindOf(name).empty()) {
                ReadSection(item.second, name + ".");
            } else if (!item.second.IsNull()) {
                ReadKey(name, item.first, item.second);
            }
        }
    }

    Result<void> result() const { return mistakes_.ToResult(); }

  private:
    // Empty if there is no such key.
    static std::string_view KindOf(std::string_view name) {
        const auto found = std::ranges::find(ConfigKeys(), name, &ConfigKey::name);
        return found == ConfigKeys().end() ? std::string_view() : found->kind;
    }

    static bool IsSection(const std::string& name) {
        return std::ranges::any_of(
            ConfigKeys(), [&](const ConfigKey& key) { return key.name.starts_with(name + "."); });
    }

    void ReadKey(const std::string& name, const YAML::Node& at, const YAML::Node& value) {
        if (IsSection(name)) {
            AddMistake(at, name,
                       name + " is a section: its keys stand below it, one to a line and indented");
        } else if (KindOf(name) == "list of maps") {
            YAML::Emitter flow;
            flow << YAML::Flow << value;
            Set(name, at, flow.c_str());
            for (std::size_t i = 0; value.IsSequence() && i < value.size(); ++i) {
                config_.places.emplace(name + "[" + std::to_string(i) + "]",
                                       At(path_, value[i].Mark()));
            }
        } else if (!IsFlat(value)) {
            AddMistake(at, name, name + ": lists and maps must hold plain values");
        } else if (const std::string twice = value.IsMap() ? GivenTwice(value) : "";
                   !twice.empty()) {
            AddMistake(at, name, name + ": '" + twice + "' stands in it twice");
        } else {
            Set(name, at, Flatten(value));
        }
    }

    void Set(const std::string& name, const YAML::Node& at, const std::string& text) {
        if (auto set = SetConfig(config_, name, text); !set) {
            return AddMistake(at, set.error().field, set.error().detail);
        }
        config_.places.emplace(name, At(path_, at.Mark()));
    }

    void AddMistake(const YAML::Node& at, const std::string& field, const std::string& what) {
        mistakes_.Add({ErrorCode::kInvalid, At(path_, at.Mark()) + ": " + what, field});
    }

    Config& config_;
    const std::string& path_;
    Mistakes mistakes_;
};

// Nothing of it would count, mistakes and all.
Result<void> SecondDocument(const std::string& path, const YAML::Node& second) {
    return Fail(ErrorCode::kInvalid, At(path, second.Mark()) +
                                         ": a second document begins here ('---' before it): a "
                                         "configuration is one document");
}

}  // namespace

Result<void> LoadConfigFile(Config& config, const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return Fail(ErrorCode::kInvalid, path + ": is a directory; name the file in it");
    }
    const auto read = ReadText(path);
    if (!read) return Fail(ErrorCode::kInvalid, path + ": the file cannot be read");
    const std::string& text = *read;
    if (const auto broken = FindBrokenUtf8(text)) {
        return Fail(ErrorCode::kInvalid,
                    path + ":" + std::to_string(broken->line) + ": " + broken->detail);
    }
    // yaml-cpp reports by exceptions; they end here.
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(text);
        if (documents.size() > 1) return SecondDocument(path, documents[1]);
        if (documents.empty() || documents[0].IsNull()) return {};
        const YAML::Node& root = documents[0];
        if (!root.IsMap()) return Fail(ErrorCode::kInvalid, path + ": must be a map of sections");
        FileReader reader(config, path);
        reader.ReadSection(root, "");
        return reader.result();
    } catch (const YAML::Exception& error) {
        return Fail(ErrorCode::kInvalid, At(path, error.mark) + ": " + error.msg);
    }
}

}  // namespace takt::internal
