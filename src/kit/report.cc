#include "kit/report.h"

namespace takt::internal::kit {

std::string_view Name(Verdict verdict) {
    switch (verdict) {
        case Verdict::kKept:
            return "kept";
        case Verdict::kBroken:
            return "broken";
        case Verdict::kNotTested:
            return "not_tested";
    }
    return "";
}

void RuleReport::Judge(const std::string& broken, const std::string& skipped) {
    if (!broken.empty()) {
        verdict = Verdict::kBroken;
        detail = broken;
    } else if (!skipped.empty()) {
        verdict = Verdict::kNotTested;
        detail = skipped;
    }
}

}  // namespace takt::internal::kit
