#include "sdk/own_names.h"

#include <string>

namespace takt {
namespace {

// A name of its own, not a part of a longer one.
bool StandsAlone(std::string_view text, std::size_t at, std::size_t size) {
    const auto is_part = [&](std::size_t i) {
        const char c = text[i];
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    if (at > 0 && is_part(at - 1)) return false;
    const std::size_t end = at + size;
    if (end >= text.size()) return true;
    // A full stop may end the sentence.
    return !is_part(end) || (text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' '));
}

void ReplaceIn(std::string& text, const OwnName& name) {
    for (std::size_t at = 0; (at = text.find(name.inside, at)) != text.npos;) {
        if (StandsAlone(text, at, name.inside.size())) {
            text.replace(at, name.inside.size(), name.callers);
            at += name.callers.size();
        } else {
            at += name.inside.size();
        }
    }
}

}  // namespace

Error InOwnNames(Error error, OwnNames names) {
    for (const OwnName& name : names) {
        const bool inner =
            error.field.size() > name.inside.size() && error.field.starts_with(name.inside) &&
            (error.field[name.inside.size()] == '.' || error.field[name.inside.size()] == '[');
        if (error.field != name.inside && !inner) continue;
        const std::string field = error.field;
        error.field = std::string(name.callers) + error.field.substr(name.inside.size());
        ReplaceIn(error.message, {field, error.field});
        break;
    }
    // A key of the configuration is nobody's word but ours, wherever it stands.
    for (const OwnName& name : names) {
        if (name.inside.contains('.')) ReplaceIn(error.message, name);
    }
    return error;
}

Error InTaskNames(Error error) {
    return InOwnNames(std::move(error), {{"parameters", "payload"},
                                         {"timeout_seconds", "timeout"},
                                         {"retry_policy", "retry"},
                                         {"max_retry", "retry.max_retries"}});
}

}  // namespace takt
