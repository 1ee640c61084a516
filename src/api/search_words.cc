#include "api/search_words.h"

#include <algorithm>

#include "api/json_read.h"

namespace takt::internal {
namespace {

// As long as the longest name of a task.
constexpr std::size_t kSearchBytesMax = 200;

char SmallLetter(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// REQUIRES: `small` is in small letters.
bool HasWords(std::string_view text, std::string_view small) {
    return !std::ranges::search(text, small, {}, SmallLetter).empty() || small.empty();
}

bool HasWords(const Pairs& pairs, std::string_view small) {
    return std::ranges::any_of(pairs, [&](const auto& pair) {
        return HasWords(pair.first.str() + "=" + pair.second.str(), small);
    });
}

bool HasPair(const Pairs& pairs, const SearchWords& words) {
    return std::ranges::any_of(pairs, [&](const auto& pair) {
        return pair.first.view() == words.metadata_name &&
               pair.second.view() == words.metadata_value;
    });
}

bool HasText(const Task& task, std::string_view small) {
    return HasWords(task.name, small) || HasWords(task.id.view(), small) ||
           HasWords(task.type, small) || HasWords(task.queue, small) ||
           HasWords(task.opt().metadata, small);
}

}  // namespace

bool SearchWords::Fit(const Task& task) const {
    if (!metadata_name.empty() && !HasPair(task.opt().metadata, *this)) return false;
    return text.empty() || HasText(task, text);
}

bool SearchWords::Fit(const Execution& row) const {
    if (!metadata_name.empty() && !HasPair(row.task->opt().metadata, *this)) return false;
    if (text.empty() || HasText(*row.task, text)) return true;
    if (HasWords(row.id.view(), text) || HasWords(row.worker.view(), text) ||
        HasWords(row.step, text)) {
        return true;
    }
    const Outcome* outcome = row.outcome.get();
    if (!outcome || outcome->reason == Reason::kNone) return false;
    return HasWords(Name(outcome->reason), text) || HasWords(outcome->message, text);
}

Result<bool> SetSearch(SearchWords& words, std::string_view name, std::string_view value) {
    if (name == "search") {
        if (value.empty() || value.size() > kSearchBytesMax) {
            return BadField(name, "must have 1 to 200 bytes");
        }
        words.text = value;
        std::ranges::transform(words.text, words.text.begin(), SmallLetter);
        return true;
    }
    if (name != "metadata") return false;
    const std::size_t sign = value.find('=');
    if (sign == 0 || sign == value.npos) {
        return BadField(name, "must be a name and a value, such as team=billing");
    }
    words.metadata_name = value.substr(0, sign);
    words.metadata_value = value.substr(sign + 1);
    return true;
}

}  // namespace takt::internal
