// Fields of the bodies that tell of definitions: a kind, and lists of objects.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/definition_kind.h"
#include "api/request_kinds.h"

namespace takt::internal {

// The rules that the program brings, as definitions would have them: a list in JSON. They stand in
// every namespace without anybody having made them.
std::string BuiltinRuleDefinitions(const Services& services);

template <typename Request>
Taken<Request> TakenKind(std::string Request::* place) {
    std::vector<std::string_view> names;
    for (const DefinitionKind& kind : DefinitionKinds()) names.push_back(kind.name);
    return TakenBy<Request>::Own(schema::OneOf(names), ListedOr(names),
                                 [place, names](Request& request, const JsonView& value,
                                                std::string_view name) -> Result<void> {
                                     std::string scratch;
                                     const std::string_view text = value.is_string()
                                                                       ? value.AsString(scratch)
                                                                       : std::string_view();
                                     if (!FindDefinitionKind(text))
                                         return BadField(name, "must be " + ListedOr(names));
                                     request.*place = text;
                                     return {};
                                 });
}

// A list of objects, each read by a table of its own.
template <typename Request, typename Item>
Taken<Request> TakenList(std::vector<Item> Request::* place, const RequestTable<Item>& (*fields)(),
                         std::size_t count_max) {
    return TakenBy<Request>::Own(
        schema::ListOf(RequestSchema(fields()), count_max),
        "up to " + std::to_string(count_max) + " objects",
        [=](Request& request, const JsonView& value, std::string_view name) -> Result<void> {
            if (value.kind() != JsonView::Kind::kArray) return BadField(name, "must be a list");
            JsonView::Elements elements(value);
            while (elements.Next()) {
                std::vector<Item>& list = request.*place;
                const std::string at = std::string(name) + "[" + std::to_string(list.size()) + "]";
                if (list.size() >= count_max) {
                    return BadField(name, "has more than " + std::to_string(count_max));
                }
                if (elements.value().kind() != JsonView::Kind::kObject) {
                    return BadField(at, "must be an object");
                }
                auto item = ReadRequest(fields(), elements.value(), Item{}, at + ".");
                if (!item) return std::unexpected(std::move(item.error()));
                list.push_back(std::move(*item));
            }
            return {};
        });
}

}  // namespace takt::internal
