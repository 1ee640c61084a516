#include "cli/kit_report.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

using kit::Verdict;

std::ptrdiff_t CountOf(const std::vector<kit::RuleReport>& reports, Verdict verdict) {
    return std::ranges::count(reports, verdict, &kit::RuleReport::verdict);
}

std::string RulesJson(const std::vector<kit::RuleReport>& reports) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject();
    for (const auto verdict : {Verdict::kKept, Verdict::kBroken, Verdict::kNotTested}) {
        json.Field(kit::Name(verdict), CountOf(reports, verdict));
    }
    json.Key("rules").BeginArray();
    for (const kit::RuleReport& report : reports) {
        json.BeginObject().Field("rule", report.rule).Field("section", report.section);
        json.Field("sentence", report.sentence).Field("verdict", kit::Name(report.verdict));
        json.Key("detail");
        report.detail.empty() ? json.Null() : json.Value(std::string_view(report.detail));
        json.EndObject();
    }
    json.EndArray().EndObject();
    return text;
}

}  // namespace

void PrintRuleReport(const kit::RuleReport& report) {
    struct Look {
        const char* word;
        Colour colour;
    };
    constexpr Look kLooks[] = {
        {"kept  ", Colour::kGreen}, {"BROKEN", Colour::kRed}, {"-     ", Colour::kYellow}};
    const Look& look = kLooks[static_cast<std::size_t>(report.verdict)];
    std::printf("%s %-16s %s\n", Paint(look.word, look.colour).c_str(), report.rule.c_str(),
                report.sentence.c_str());
    if (!report.detail.empty()) std::printf("%23s %s\n", "", Clean(report.detail).c_str());
    std::fflush(stdout);
}

int EndKit(const std::vector<kit::RuleReport>& reports, bool json) {
    const auto broken = CountOf(reports, Verdict::kBroken);
    if (json) {
        std::printf("%s\n", RulesJson(reports).c_str());
    } else {
        std::printf("%td kept, %td broken, %td not tested\n", CountOf(reports, Verdict::kKept),
                    broken, CountOf(reports, Verdict::kNotTested));
    }
    return broken > 0 ? kFailed : kOk;
}

}  // namespace takt::internal::cli
