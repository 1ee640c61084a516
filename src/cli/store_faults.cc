#include "cli/store_faults.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <span>

#include "archive/store_check.h"
#include "archive/store_stats.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/store_view.h"
#include "store/open.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kFaultsShown = 1'000;

// Of the file, whose rows cannot be trusted then, or of the rows.
struct Found : StoreFaults {
    bool in_file = false;
};

Result<Found> FindFaults(const std::string& url) {
    const auto damage = FindDamage(url);
    if (!damage) return std::unexpected(damage.error());
    Found found;
    for (const std::string& line : *damage) {
        found.faults.push_back({.text = "takt.db is damaged: " + line,
                                .remedy = "make it anew from the rows that can be read"});
    }
    found.count = found.faults.size();
    found.in_file = found.count > 0;
    if (found.in_file) return found;
    const auto store = OpenStore(url);
    if (!store) return std::unexpected(store.error());
    ProgressLine progress("checking");
    auto rows = CheckStore(**store, progress.Show());
    if (!rows) return std::unexpected(rows.error());
    return Found{std::move(*rows)};
}

// As many as anybody reads.
std::span<const StoreFault> Shown(const StoreFaults& found) {
    return std::span(found.faults).first(std::min(found.faults.size(), kFaultsShown));
}

std::string JsonOf(const StoreFaults& found) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("faults", found.count).Key("items").BeginArray();
    for (const StoreFault& fault : Shown(found)) {
        json.BeginObject().Field("number", std::uint64_t(fault.partition));
        json.Field("fault", std::string_view(fault.text));
        json.Field("remedy", std::string_view(fault.remedy)).EndObject();
    }
    json.EndArray().Key("rows");
    WriteTally(json, found.rows);
    json.EndObject();
    return text;
}

void PrintFaults(const StoreFaults& found) {
    for (const StoreFault& fault : Shown(found)) {
        std::printf("%s%s%s\n", Clean(fault.text, 400).c_str(), fault.remedy.empty() ? "" : " → ",
                    fault.remedy.c_str());
    }
    if (found.count > Shown(found).size()) {
        std::printf("… and %llu more\n",
                    static_cast<unsigned long long>(found.count - Shown(found).size()));
    }
}

// Each partition's name; those of partitions that the directory has lost are their numbers.
std::vector<std::string> NamesIn(const std::string& url) {
    const auto store = OpenStore(url);
    auto names = store ? ReadNames(**store) : std::unexpected(store.error());
    return names ? std::move(*names) : std::vector<std::string>();
}

void PrintLost(const Salvaged& salvaged, const std::function<std::string(Partition)>& name_of) {
    std::map<Partition, std::string> tables;
    for (const SalvagedTable& one : salvaged.tables) {
        if (one.gaps == 0) continue;
        std::string& list = tables[one.partition];
        list += (list.empty() ? "" : ", ") + one.name;
    }
    std::fflush(stdout);  // The table comes first, wherever the two go.
    if (!salvaged.live_left_out.empty()) {
        std::fprintf(
            stderr,
            "takt: executions that had not ended and definitions were not taken from pages "
            "that no table leads to any more: %s, and what has ended or was deleted must "
            "not run again\n",
            salvaged.live_left_out.c_str());
    }
    for (const auto& [partition, list] : tables) {
        const auto known = salvaged.executions_lost.find(partition);
        std::string least;
        if (known != salvaged.executions_lost.end()) {
            least = "; " + std::to_string(known->second) + " executions at least";
        }
        std::fprintf(stderr, "takt: lost in namespace %s: what stood in the gaps of %s%s\n",
                     name_of(partition).c_str(), list.c_str(), least.c_str());
    }
}

// Whether nothing was lost.
Result<bool> RepairFile(const std::string& url) {
    const auto salvaged = SalvageStore(url);
    if (!salvaged) return std::unexpected(salvaged.error());
    const std::vector<std::string> names = NamesIn(url);
    const auto name_of = [&](Partition partition) {
        const bool named = partition < names.size() && !names[partition].empty();
        return named ? names[partition] : "#" + std::to_string(partition);
    };
    Table table({"NAMESPACE", "TABLE", "ROWS", "GAPS"});
    for (const SalvagedTable& one : salvaged->tables) {
        if (one.rows == 0 && one.gaps == 0) continue;
        table.Add({name_of(one.partition), one.name, std::to_string(one.rows),
                   Cell(std::to_string(one.gaps), one.gaps > 0 ? Colour::kRed : Colour::kNone)});
    }
    table.Print();
    std::printf("takt.db is made anew; the damaged one is %s\n", salvaged->kept.c_str());
    PrintLost(*salvaged, name_of);
    return salvaged->gaps() == 0;
}

// The faults that it found with schedulers kept out, and mended where it can.
Result<StoreFaults> RepairRows(const std::string& url) {
    const auto store = OpenStore(url);
    if (!store) return std::unexpected(store.error());
    ProgressLine progress("repairing");
    return RepairStore(**store, progress.Show());
}

int TellMended(const StoreFaults& found) {
    const auto mended = std::ranges::count_if(found.faults, &StoreFault::mendable);
    std::printf("%td of %llu faults mended\n", mended,
                static_cast<unsigned long long>(found.count));
    return mended == std::int64_t(found.count) ? kOk : kFailed;
}

// Indexes first, as often as there are more of their faults than one list of faults has; then the rows,
// which could not be judged before.
Result<int> RepairInTurn(const std::string& url) {
    const auto of_index = [](const StoreFault& fault) { return fault.index.has_value(); };
    while (true) {
        const auto found = RepairRows(url);
        if (!found) return std::unexpected(found.error());
        const int told = TellMended(*found);
        if (std::ranges::none_of(found->faults, of_index)) return told;
        auto next = FindFaults(url);
        if (!next) return std::unexpected(next.error());
        if (next->count == 0) return kOk;
        PrintFaults(*next);
        if (next->count >= found->count) return kFailed;  // Something makes them anew.
    }
}

// The file first, then the rows that refer to what was lost, or whose faults its damage hid.
Result<int> RepairBoth(const std::string& url) {
    const auto whole = RepairFile(url);
    if (!whole) return std::unexpected(whole.error());
    const auto found = FindFaults(url);
    if (!found) return std::unexpected(found.error());
    PrintFaults(*found);
    if (found->count == 0) return *whole ? kOk : kFailed;
    const auto rows = RepairRows(url);
    if (!rows) return std::unexpected(rows.error());
    const int told = TellMended(*rows);
    return *whole ? told : kFailed;
}

}  // namespace

Result<int> CheckGiven(const std::string& url, bool as_json) {
    const auto found = FindFaults(url);
    if (!found) return std::unexpected(found.error());
    if (as_json) {
        std::printf("%s\n", JsonOf(*found).c_str());
        return found->count == 0 ? kOk : kFailed;
    }
    PrintFaults(*found);
    if (found->in_file) {
        std::printf("takt store repair mends that; a backup is better, if you have one\n");
    } else {
        std::printf("%llu rows checked, %llu faults\n",
                    static_cast<unsigned long long>(found->rows.sum().rows),
                    static_cast<unsigned long long>(found->count));
    }
    return found->count == 0 ? kOk : kFailed;
}

Result<int> RepairGiven(const std::string& url, bool yes) {
    const auto found = FindFaults(url);
    if (!found) return std::unexpected(found.error());
    PrintFaults(*found);
    if (found->count == 0) {
        std::printf("nothing to repair\n");
        return kOk;
    }
    if (yes) return found->in_file ? RepairBoth(url) : RepairInTurn(url);
    if (found->in_file) {
        std::printf(
            "what can be read would be put into a new takt.db, and the damaged one kept; do "
            "it with --yes\n");
        return kFailed;
    }
    std::printf("%td of %llu faults can be mended as said; do it with --yes\n",
                std::ranges::count_if(found->faults, &StoreFault::mendable),
                static_cast<unsigned long long>(found->count));
    return kFailed;
}

}  // namespace takt::internal::cli
