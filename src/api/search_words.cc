#include "api/search_words.h"

#include <algorithm>

#include "api/json_read.h"
#include "api/search_text.h"

namespace takt::internal {
namespace {

// As long as the longest name of a task.
constexpr std::size_t kSearchBytesMax = 200;

bool AnyPairHas(const Pairs& pairs, std::string_view small) {
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

bool HasPairs(const Task& task, std::string_view parameters, const SearchWords& words) {
    if (!words.metadata_name.empty() && !HasPair(task.opt().metadata, words)) return false;
    return words.parameter_path.empty() ||
           HasValueAt(parameters, words.parameter_path, words.parameter_value);
}

bool HasText(const Task& task, std::string_view small) {
    return HasWords(task.name, small) || HasWords(task.id.view(), small) ||
           HasWords(task.type, small) || HasWords(task.queue, small) ||
           AnyPairHas(task.opt().metadata, small);
}

}  // namespace

bool SearchWords::Fit(const Task& task) const {
    if (!HasPairs(task, task.payload, *this)) return false;
    return text.empty() || HasText(task, text) || HasValue(task.payload, text);
}

bool SearchWords::Fit(const Execution& row) const {
    if (!HasPairs(*row.task, row.input(), *this)) return false;
    if (text.empty() || HasText(*row.task, text)) return true;
    if (HasWords(row.id.view(), text) || HasWords(row.worker.view(), text) ||
        HasWords(row.step, text)) {
        return true;
    }
    const Outcome* outcome = row.outcome.get();
    if (outcome && outcome->reason != Reason::kNone &&
        (HasWords(Name(outcome->reason), text) || HasWords(outcome->message, text))) {
        return true;
    }
    return HasValue(row.input(), text);
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
    if (name != "metadata" && name != "parameters") return false;
    const bool metadata = name == "metadata";
    const std::size_t sign = value.find('=');
    if (sign == 0 || sign == value.npos) {
        return BadField(name, metadata ? "must be a name and a value, such as team=billing"
                                       : "must be a path and a value, such as order.id=4711");
    }
    (metadata ? words.metadata_name : words.parameter_path) = value.substr(0, sign);
    (metadata ? words.metadata_value : words.parameter_value) = value.substr(sign + 1);
    return true;
}

}  // namespace takt::internal
