#include "api/search_text.h"

#include <algorithm>
#include <string>

#include "base/json.h"
#include "base/json_view.h"

namespace takt::internal {
namespace {

// Whether `fits(path, value)` is true of any value that holds no others. The path is put back.
template <typename Fits>
bool AnyValue(const JsonView& json, std::string& path, const Fits& fits) {
    if (json.kind() == JsonView::Kind::kObject) {
        JsonView::Members members(json);
        const std::size_t length = path.size();
        while (members.Next()) {
            if (length > 0) path += '.';
            path += members.key();
            if (AnyValue(members.value(), path, fits)) return true;
            path.resize(length);
        }
        return false;
    }
    if (json.kind() == JsonView::Kind::kArray) {
        JsonView::Elements elements(json);
        while (elements.Next()) {
            if (AnyValue(elements.value(), path, fits)) return true;
        }
        return false;
    }
    std::string scratch;
    return fits(path, json.is_string() ? json.AsString(scratch) : json.raw());
}

bool IsJson(std::string_view text) {
    return !text.empty() && CheckJson(text, {.bytes_max = text.size()});
}

}  // namespace

bool HasWords(std::string_view text, std::string_view small) {
    return !std::ranges::search(text, small, {}, SmallLetter).empty() || small.empty();
}

bool HasValue(std::string_view parameters, std::string_view small) {
    const bool with_path = small.contains('=');
    // Most have it not, and are not taken apart. What is escaped may be spelled otherwise.
    const bool plain = !with_path && !parameters.contains('\\');
    const bool is_there = HasWords(parameters, small);
    if (plain && !is_there) return false;
    if (!IsJson(parameters)) return is_there;
    std::string path;
    return AnyValue(JsonView(parameters), path, [&](std::string_view at, std::string_view value) {
        if (HasWords(value, small)) return true;
        return with_path && HasWords(std::string(at) + "=" + std::string(value), small);
    });
}

bool HasValueAt(std::string_view parameters, std::string_view path, std::string_view value) {
    if (!IsJson(parameters)) return false;
    std::string at;
    return AnyValue(JsonView(parameters), at, [&](std::string_view there, std::string_view text) {
        return there == path && text == value;
    });
}

}  // namespace takt::internal
