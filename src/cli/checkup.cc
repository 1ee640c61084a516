#include "cli/checkup.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

// Room for a few reasons of a queue in one line.
constexpr std::size_t kSaidMax = 600;

}  // namespace

void Checkup::Add(const char* status, std::string& what, std::string& said, std::string next) {
    lines_.push_back({status, std::move(what), std::move(said), std::move(next)});
}

int Checkup::Print(bool as_json) const {
    const auto bad = std::ranges::count(lines_, "bad", &Line::status);
    const int exit = bad == 0 ? kOk : kFailed;
    if (as_json) {
        std::string text;
        JsonWriter json(text);
        json.BeginObject().Field("ok", bad == 0).Key("checks").BeginArray();
        for (const Line& line : lines_) {
            json.BeginObject().Field("check", std::string_view(line.what));
            json.Field("status", std::string_view(line.status));
            json.Field("message", std::string_view(line.said));
            json.Field("next", std::string_view(line.next)).EndObject();
        }
        json.EndArray().EndObject();
        std::printf("%s\n", text.c_str());
        return exit;
    }
    Table table({"", "CHECK", "FOUND"});
    for (const Line& line : lines_) {
        const Colour colour = line.status == "ok"     ? Colour::kGreen
                              : line.status == "warn" ? Colour::kYellow
                                                      : Colour::kRed;
        table.Add({Cell(line.status, colour), line.what, Clean(line.said, kSaidMax)});
        if (!line.next.empty()) table.Add({"", "", Cell("→ " + Clean(line.next, 300))});
    }
    table.Print();
    const auto warned = std::ranges::count(lines_, "warn", &Line::status);
    std::printf("%zu looked at, %td bad, %td worth a look\n", lines_.size(), bad, warned);
    return exit;
}

}  // namespace takt::internal::cli
