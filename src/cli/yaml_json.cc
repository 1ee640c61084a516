#include "cli/yaml_json.h"

#include <yaml-cpp/yaml.h>

#include <set>

#include "base/json.h"

namespace takt::internal::cli {
namespace {

constexpr int kDepthMax = 64;

// Whether a plain scalar is a number as JSON spells it; such a one is kept letter by letter.
bool IsJsonNumber(const std::string& text) {
    const bool begins = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
    return begins && CheckJson(text).has_value();
}

class Writer {
  public:
    Writer(std::string name) : name_(std::move(name)) {}

    Result<void> Write(const YAML::Node& node, int depth) {
        if (depth > kDepthMax) return Wrong(node, "is nested too deeply");
        if (node.IsScalar()) return WriteScalar(node);
        if (node.IsSequence()) {
            out += '[';
            bool first = true;
            for (const auto& item : node) {
                if (!std::exchange(first, false)) out += ',';
                if (auto written = Write(item, depth + 1); !written) return written;
            }
            out += ']';
            return {};
        }
        if (!node.IsMap()) {
            out += "null";
            return {};
        }
        out += '{';
        std::set<std::string> names;
        for (const auto& item : node) {
            if (!item.first.IsScalar()) return Wrong(item.first, "has a name that is no text");
            const std::string& key = item.first.Scalar();
            if (names.size() > 0) out += ',';
            if (!names.insert(key).second) return Wrong(item.first, "gives '" + key + "' twice");
            AppendJsonString(out, key);
            out += ':';
            if (auto written = Write(item.second, depth + 1); !written) return written;
        }
        out += '}';
        return {};
    }

    std::string out;

  private:
    Result<void> WriteScalar(const YAML::Node& node) {
        const std::string& text = node.Scalar();
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
            out += text;
        } else {
            AppendJsonString(out, text);
        }
        return {};
    }

    std::unexpected<Error> Wrong(const YAML::Node& node, const std::string& why) const {
        return Fail(ErrorCode::kInvalid,
                    name_ + ":" + std::to_string(node.Mark().line + 1) + " " + why);
    }

    const std::string name_;
};

}  // namespace

Result<std::string> YamlToJson(const std::string& text, const std::string& name) {
    try {
        Writer writer(name);
        if (auto written = writer.Write(YAML::Load(text), 0); !written) {
            return std::unexpected(written.error());
        }
        return std::move(writer.out);
    } catch (const YAML::Exception& error) {
        return Fail(ErrorCode::kInvalid,
                    name + ":" + std::to_string(error.mark.line + 1) + " is no YAML: " + error.msg);
    }
}

}  // namespace takt::internal::cli
