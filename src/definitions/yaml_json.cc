#include "definitions/yaml_json.h"

#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <utility>

#include "base/broken_utf8.h"
#include "base/json.h"

namespace takt::internal {
namespace {

constexpr int kDepthMax = 64;
// More than any definition can have: its payload has a MiB at most. Aliases of aliases can make a few
// lines endless.
constexpr std::size_t kJsonBytesMax = 2 << 20;
constexpr std::size_t kPlacesMax = 100'000;  // Mistakes beyond are told with a line around them.

int LineNumber(const YAML::Mark& mark) {
    return mark.line + 1;
}

// Whether a plain scalar is a number as JSON spells it; such a one is kept letter by letter.
bool IsJsonNumber(const std::string& text) {
    std::string_view left = text;
    const auto take = [&](std::string_view any) {
        const bool has = !left.empty() && any.find(left[0]) != std::string_view::npos;
        if (has) left.remove_prefix(1);
        return has;
    };
    const auto digits = [&] {
        bool some = false;
        while (take("0123456789")) some = true;
        return some;
    };
    take("-");
    if (!take("0") && !digits()) return false;
    if (take(".") && !digits()) return false;
    if (take("eE")) {
        take("+-");
        if (!digits()) return false;
    }
    return left.empty();
}

// yaml-cpp would make U+FFFD of it, and nobody would hear of it.
std::optional<FileMistake> FindBroken(const std::string& text) {
    const auto broken = FindBrokenUtf8(text);
    if (!broken) return std::nullopt;
    return FileMistake{broken->line, broken->detail};
}

class YamlWalk {
  public:
    // False: `mistake` says why.
    bool Write(const YAML::Node& node, const std::string& place, int depth) {
        Note(place, node);
        if (depth > kDepthMax) return Wrong(node, "is nested too deeply");
        if (document.json.size() > kJsonBytesMax) return Wrong(node, "makes the document too long");
        if (node.IsScalar()) return WriteScalar(node, place);
        if (node.IsSequence()) return WriteList(node, place, depth);
        if (node.IsMap()) return WriteMap(node, place, depth);
        document.json += "null";
        return true;
    }

    YamlDocument document;
    FileMistake mistake;

  private:
    void Note(const std::string& place, const YAML::Node& node) {
        if (document.lines.size() < kPlacesMax) {
            document.lines.emplace(place, LineNumber(node.Mark()));
        }
    }

    bool WriteList(const YAML::Node& node, const std::string& place, int depth) {
        document.json += '[';
        std::size_t at = 0;
        for (const auto& item : node) {
            if (at > 0) document.json += ',';
            const std::string inside = place + "[" + std::to_string(at++) + "]";
            if (!Write(item, inside, depth + 1)) return false;
        }
        document.json += ']';
        return true;
    }

    bool WriteMap(const YAML::Node& node, const std::string& place, int depth) {
        document.json += '{';
        std::set<std::string> names;
        for (const auto& item : node) {
            if (!item.first.IsScalar()) return Wrong(item.first, "has a name that is no text");
            const std::string& key = item.first.Scalar();
            if (!names.empty()) document.json += ',';
            if (!names.insert(key).second) return Wrong(item.first, "gives '" + key + "' twice");
            AppendJsonString(document.json, key);
            document.json += ':';
            std::string inside = place;
            inside += (place.empty() ? "" : ".") + key;
            Note(inside, item.first);
            if (!Write(item.second, inside, depth + 1)) return false;
        }
        document.json += '}';
        return true;
    }

    bool WriteScalar(const YAML::Node& node, const std::string& place) {
        const std::string& text = node.Scalar();
        std::string& out = document.json;
        const bool quoted = node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str";
        if (quoted) {
            AppendJsonString(out, text);
        } else if (text.empty() || text == "~" || text == "null" || text == "Null" ||
                   text == "NULL") {
            out += "null";
        } else if (text == "true" || text == "True" || text == "TRUE") {
            out += "true";
        } else if (text == "false" || text == "False" || text == "FALSE") {
            out += "false";
        } else if (IsJsonNumber(text)) {
            // A text instead would be another thing than the one that was meant.
            if (const auto fits = CheckJson(text); !fits) {
                return Wrong(node, (place.empty() ? "" : place + ": ") + text.substr(0, 60) +
                                       " does not fit into 64 bits; in quotes it would be a "
                                       "text");
            }
            out += text;
        } else {
            AppendJsonString(out, text);
        }
        return true;
    }

    bool Wrong(const YAML::Node& node, const std::string& why) {
        mistake = {LineNumber(node.Mark()), why};
        return false;
    }
};

void AddDocument(const YAML::Node& node, YamlFile& to) {
    if (node.IsNull()) return;
    YamlWalk walk;
    walk.document.line = LineNumber(node.Mark());
    if (walk.Write(node, {}, 0)) {
        to.documents.push_back(std::move(walk.document));
    } else {
        to.mistakes.push_back(std::move(walk.mistake));
    }
}

}  // namespace

int YamlDocument::LineOf(std::string_view place) const {
    for (std::string at(place); !at.empty();) {
        if (const auto found = lines.find(at); found != lines.end()) return found->second;
        const std::size_t end = at.find_last_of(".[");
        at.resize(end == std::string::npos ? 0 : end);
    }
    return line;
}

Result<std::string> YamlToJson(const std::string& text, const std::string& name) {
    const auto wrong = [&](int line, const std::string& why) {
        return Fail(ErrorCode::kInvalid, name + ":" + std::to_string(line) + " " + why);
    };
    if (const auto broken = FindBroken(text)) return wrong(broken->line, broken->detail);
    try {
        YamlWalk walk;
        if (!walk.Write(YAML::Load(text), {}, 0)) {
            return wrong(walk.mistake.line, walk.mistake.detail);
        }
        return std::move(walk.document.json);
    } catch (const YAML::Exception& error) {
        return wrong(LineNumber(error.mark), "is no YAML: " + error.msg);
    }
}

YamlFile ReadYamlFile(const std::string& text) {
    YamlFile file;
    if (auto broken = FindBroken(text)) {
        file.mistakes.push_back(std::move(*broken));
        return file;
    }
    try {
        for (const YAML::Node& node : YAML::LoadAll(text)) {
            if (!node.IsSequence()) {
                AddDocument(node, file);
                continue;
            }
            for (const auto& item : node) AddDocument(item, file);
        }
    } catch (const YAML::Exception& error) {
        file.documents.clear();
        file.mistakes = {{LineNumber(error.mark), "is no YAML: " + error.msg}};
    }
    return file;
}

}  // namespace takt::internal
