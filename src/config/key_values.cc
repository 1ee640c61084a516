#include "config/key_values.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

namespace takt::internal::key_values {
namespace {

std::unexpected<Error> Bad(std::string_view what) {
    return Fail(ErrorCode::kInvalid, "must be " + std::string(what));
}

}  // namespace

Result<void> Read(std::string_view text, std::string& value) {
    value = text;
    return {};
}
Result<void> Read(std::string_view text, bool& value) {
    if (text == "true" || text == "yes" || text == "on" || text == "1") {
        value = true;
    } else if (text == "false" || text == "no" || text == "off" || text == "0") {
        value = false;
    } else {
        return Bad("true or false");
    }
    return {};
}
Result<void> Read(std::string_view text, Duration& value) {
    const auto duration = ParseDuration(text);
    if (!duration) return std::unexpected(duration.error());
    value = *duration;
    return {};
}
Result<void> Read(std::string_view text, double& value) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) {
        return Bad("a number");
    }
    value = number;
    return {};
}
Result<void> Read(std::string_view text, std::vector<std::string>& value) {
    value.clear();
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view item = text.substr(0, comma);
        while (item.starts_with(' ')) item.remove_prefix(1);
        while (item.ends_with(' ')) item.remove_suffix(1);
        if (!item.empty()) value.emplace_back(item);
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return {};
}
Result<void> Read(std::string_view text, std::map<std::string, std::string>& value) {
    std::vector<std::string> items;
    if (auto read = Read(text, items); !read) return read;
    value.clear();
    for (const std::string& item : items) {
        const std::size_t equals = item.find('=');
        if (equals == std::string::npos || equals == 0) return Bad("a list like zone=a,disk=ssd");
        value[item.substr(0, equals)] = item.substr(equals + 1);
    }
    return {};
}
// YAML in its flow style, which JSON is too.
Result<void> Read(std::string_view text, std::vector<std::map<std::string, std::string>>& value) {
    constexpr std::string_view kShape = "a list of maps such as [{name: a, kind: log}]";
    // yaml-cpp reports by exceptions; they end here.
    try {
        const YAML::Node node = YAML::Load(std::string(text));
        if (!node.IsNull() && !node.IsSequence()) return Bad(kShape);
        std::vector<std::map<std::string, std::string>> items;
        for (const auto& item : node) {
            if (!item.IsMap()) return Bad(kShape);
            auto& fields = items.emplace_back();
            for (const auto& field : item) {
                const auto [at, fresh] = fields.try_emplace(field.first.Scalar());
                if (!fresh)
                    return Bad(std::string(kShape) + "; '" + at->first + "' is given twice");
                std::string& to = at->second;
                if (field.second.IsScalar()) to = field.second.Scalar();
                if (field.second.IsMap()) return Bad(kShape);
                if (!field.second.IsSequence()) continue;
                for (const auto& one : field.second) to += (to.empty() ? "" : ",") + one.Scalar();
            }
        }
        value = std::move(items);
        return {};
    } catch (const YAML::Exception& error) {
        return Bad(std::string(kShape) + ": " + error.msg);
    }
}
Result<void> Read(std::string_view text, Strategy& value) {
    const auto strategy = ParseStrategy(text);
    if (!strategy || *strategy == Strategy::kCustom) {
        return Bad(
            "the name of a strategy: least_tasks, round_robin, weighted_round_robin, random, "
            "consistent_hash, least_connections, capacity_based, sticky, resource_aware");
    }
    value = *strategy;
    return {};
}
Result<void> Read(std::string_view text, LogLevel& value) {
    const auto level = ParseLogLevel(text);
    if (!level) return Bad("trace, debug, info, warning, error or off");
    value = *level;
    return {};
}
Result<void> Read(std::string_view text, LogFormat& value) {
    const auto format = ParseLogFormat(text);
    if (!format) return Bad("text or json");
    value = *format;
    return {};
}

std::string Show(const std::string& value) {
    return value;
}
std::string Show(bool value) {
    return value ? "true" : "false";
}
std::string Show(Duration value) {
    return FormatDuration(value);
}
std::string Show(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text += '0';
    return text;
}
std::string Show(const std::vector<std::string>& value) {
    std::string text;
    for (const std::string& item : value) text += (text.empty() ? "" : ",") + item;
    return text;
}
std::string Show(const std::map<std::string, std::string>& value) {
    std::string text;
    for (const auto& [key, item] : value) text += (text.empty() ? "" : ",") + key + "=" + item;
    return text;
}
// Not for secrets: nobody shows what was set, only what is standard, and that is nothing.
std::string Show(const std::vector<std::map<std::string, std::string>>& value) {
    return value.empty() ? "" : std::to_string(value.size()) + " of them";
}
std::string Show(Strategy value) {
    return std::string(Name(value));
}
std::string Show(LogLevel value) {
    return std::string(Name(value));
}
std::string Show(LogFormat value) {
    return value == LogFormat::kJson ? "json" : "text";
}

}  // namespace takt::internal::key_values
