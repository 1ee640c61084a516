#include "definitions/json_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"

namespace takt::internal {
namespace {

using Kind = JsonView::Kind;

std::map<std::string, JsonView> MembersByName(const JsonView& object) {
    std::map<std::string, JsonView> found;
    JsonView::Members members(object);
    while (members.Next()) found.emplace(members.key(), members.value());
    return found;
}

std::vector<JsonView> ItemsOf(const JsonView& array) {
    std::vector<JsonView> found;
    JsonView::Elements elements(array);
    while (elements.Next()) found.push_back(elements.value());
    return found;
}

std::optional<JsonView> UnlessNull(std::optional<JsonView> value) {
    return value && value->is_null() ? std::nullopt : value;
}

void AddObjectChanges(const std::string& field, const JsonView& before, const JsonView& after,
                      std::vector<FieldChange>& to) {
    const auto left = MembersByName(before);
    const auto right = MembersByName(after);
    std::set<std::string> names;
    for (const auto& [name, value] : left) names.insert(name);
    for (const auto& [name, value] : right) names.insert(name);
    for (const std::string& name : names) {
        const auto one = left.find(name);
        const auto other = right.find(name);
        AddChanges(field + "." + name,
                   one == left.end() ? std::nullopt : std::optional(one->second),
                   other == right.end() ? std::nullopt : std::optional(other->second), to);
    }
}

}  // namespace

std::optional<JsonView> MemberOf(const JsonView& object, std::string_view name) {
    if (object.kind() != Kind::kObject) return std::nullopt;
    JsonView::Members members(object);
    while (members.Next()) {
        if (members.key() == name) return members.value();
    }
    return std::nullopt;
}

std::string TextOf(const JsonView& object, std::string_view name) {
    const auto member = MemberOf(object, name);
    if (!member || !member->is_string()) return {};
    std::string scratch;
    return std::string(member->AsString(scratch));
}

std::string NormalJson(const JsonView& value) {
    std::string text;
    if (value.kind() == Kind::kObject) {
        text = "{";
        for (const auto& [name, member] : MembersByName(value)) {
            if (text.size() > 1) text += ',';
            AppendJsonString(text, name);
            text += ':' + NormalJson(member);
        }
        return text + "}";
    }
    if (value.kind() == Kind::kArray) {
        text = "[";
        for (const JsonView& item : ItemsOf(value)) {
            if (text.size() > 1) text += ',';
            text += NormalJson(item);
        }
        return text + "]";
    }
    if (!value.is_string()) return std::string(value.raw());
    // The same characters may be written with and without escapes.
    std::string scratch;
    AppendJsonString(text, value.AsString(scratch));
    return text;
}

void AddChanges(const std::string& field, std::optional<JsonView> before,
                std::optional<JsonView> after, std::vector<FieldChange>& to) {
    before = UnlessNull(before);
    after = UnlessNull(after);
    const std::string left = before ? NormalJson(*before) : std::string();
    const std::string right = after ? NormalJson(*after) : std::string();
    if (left == right) return;
    if (before && after && before->kind() == after->kind()) {
        if (before->kind() == Kind::kObject) return AddObjectChanges(field, *before, *after, to);
        if (before->kind() == Kind::kArray) {
            const auto one = ItemsOf(*before);
            const auto other = ItemsOf(*after);
            if (one.size() == other.size()) {
                for (std::size_t i = 0; i < one.size(); ++i) {
                    AddChanges(field + "[" + std::to_string(i) + "]", one[i], other[i], to);
                }
                return;
            }
        }
    }
    to.push_back({field, left, right});
}

}  // namespace takt::internal
