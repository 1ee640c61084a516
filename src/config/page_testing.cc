#include "config/page_testing.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "config/config.h"

namespace takt::internal {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

Everything about `takt serve` and `takt worker` that can be set. Three places, each stronger than the
one before: a YAML file (`--config FILE`, or `TAKT_CONFIG`), environment variables, and flags. All
three name the same keys:

| where | how `scheduler.leader_ttl` is written |
|---|---|
| file | `scheduler: {leader_ttl: 20s}` |
| environment | `TAKT_SCHEDULER_LEADER_TTL=20s` |
| flag | `--set scheduler.leader_ttl=20s` |

A key that does not exist is refused with the nearest one that does, a value that does not fit with
its key, and so are values that contradict each other; all mistakes are told at once. Nothing is ignored.
Within one place none is stronger: a key that stands twice in the file, or gets two values from flags (`--store`
and `--set store.url=`, or `--set` twice), is refused.

| kind | how a value is written |
|---|---|
| duration | `250ms`, `90s`, `1h30m`, `2d` |
| number | digits; some take a fraction, `1.5` |
| yes or no | `true`, `yes`, `on`, `1`, or `false`, `no`, `off`, `0` |
| text | as it is |
| list | a YAML list, or `a,b` |
| map | a YAML map, or `zone=a,disk=ssd` |
| list of maps | a YAML list of maps, or the same on one line: `[{name: ops, kind: log}]` |

This page is made from the code: `TAKT_WRITE_PAGES=1 ./build/config_test` writes it.
)";

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSections = {
    {{"store", "Where state is kept"},
     {"server", "The server"},
     {"scheduler", "The scheduler"},
     {"executors", "HTTP executors"},
     {"metrics", "Metrics"},
     {"alerts", "Alerts"},
     {"statistics", "Statistics"},
     {"tracing", "Traces"},
     {"log", "Log"},
     {"worker", "Workers (`takt worker`)"}}};

// Signing in is a thing of the server.
std::string_view SectionOf(std::string_view key) {
    const std::string_view section = key.substr(0, key.find('.'));
    return section == "signin" ? "server" : section;
}

void AddSection(std::string& page, std::string_view section, std::string_view title) {
    const Config defaults;
    page += "\n## " + std::string(title) + "\n\n| key | kind | default | |\n|---|---|---|---|\n";
    for (const ConfigKey& key : ConfigKeys()) {
        if (SectionOf(key.name) != section) continue;
        const std::string value = key.get(defaults);
        page += "| `" + std::string(key.name) + "` | " + std::string(key.kind) + " | " +
                (value.empty() ? "" : "`" + value + "`") + " | " + std::string(key.help) + " |\n";
    }
}

}  // namespace

std::string ConfigPage() {
    std::string page(kIntroduction);
    for (const auto& [section, title] : kSections) AddSection(page, section, title);
    page +=
        "\nWhat other schedulers call these things is in [coming from](coming_from.md); a key of "
        "theirs "
        "is answered with ours.\n";
    return page;
}

}  // namespace takt::internal
