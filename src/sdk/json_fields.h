// JsonFields: the members of an answer, by name. What is missing or of another kind is the default:
// a scheduler of another version may know more or fewer fields.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_view.h"
#include "takt/time.h"

namespace takt {

class JsonFields {
  public:
    // No fields if it is not an object. The text must outlive this.
    explicit JsonFields(const internal::JsonView& object);

    const internal::JsonView* Find(std::string_view name) const;

    std::string Text(std::string_view name) const;
    bool Bool(std::string_view name) const;
    double Number(std::string_view name) const;
    template <std::integral T>
    T Count(std::string_view name) const {
        const std::int64_t number = Integer(name);
        if (number < 0 || std::cmp_greater(number, std::numeric_limits<T>::max())) return 0;
        return static_cast<T>(number);
    }
    std::int64_t Integer(std::string_view name) const;
    // The JSON of a value as it was sent; empty for null.
    std::string Raw(std::string_view name) const;
    std::optional<Time> When(std::string_view name) const;
    // "1m30s", or a number of seconds.
    Duration Span(std::string_view name) const;
    std::vector<std::string> Texts(std::string_view name) const;
    std::map<std::string, std::string> Pairs(std::string_view name) const;
    // Of an object in it; none if there is none.
    JsonFields Inner(std::string_view name) const;
    // None for null.
    std::optional<double> NumberIf(std::string_view name) const;

  private:
    std::vector<std::pair<std::string, internal::JsonView>> fields_;
};

// The elements of a list in an answer.
template <typename T, typename Read>
std::vector<T> ReadList(const JsonFields& fields, std::string_view name, Read read) {
    std::vector<T> items;
    const internal::JsonView* list = fields.Find(name);
    if (!list || list->kind() != internal::JsonView::Kind::kArray) return items;
    internal::JsonView::Elements elements(*list);
    while (elements.Next()) items.push_back(read(JsonFields(elements.value())));
    return items;
}

}  // namespace takt
