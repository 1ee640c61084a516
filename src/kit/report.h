// The verdict of a kit on one rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace takt::internal::kit {

enum class Verdict : std::uint8_t { kKept, kBroken, kNotTested };
std::string_view Name(Verdict verdict);

struct RuleReport {
    std::string rule;
    std::string section;   // Of the page that has it.
    std::string sentence;  // What whoever keeps it does.
    Verdict verdict = Verdict::kKept;
    std::string detail = {};  // Why, unless it is kept.

    // Broken and not tested at once is broken.
    void Judge(const std::string& broken, const std::string& skipped);
};

}  // namespace takt::internal::kit
