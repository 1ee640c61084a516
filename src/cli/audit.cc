// takt audit: who changed what. takt whoami: who the caller is.
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>
#include <map>
#include <ranges>
#include <thread>

#include "base/json.h"
#include "base/time.h"
#include "cli/client.h"
#include "cli/filter_flag.h"
#include "cli/formats.h"
#include "cli/moment_flag.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kAuditPageMax = 1000;

// How often --follow looks for new entries.
constexpr Duration kAuditLook{1'000};

struct AuditOptions {
    ClientOptions client;
    std::string id, who, action, target, outcome;
    TimeWindow at;
    std::string output = "table";
    std::size_t limit = 50;
    bool all = false;
    bool diff = false;
    bool follow = false;

    bool lines() const { return client.json || output != "table"; }
};

// Each value of a document by its place in it: {"a": {"b": 1}} has a.b = 1.
void Flatten(const boost::json::value& value, const std::string& place,
             std::map<std::string, std::string>& to) {
    if (value.is_object() && !value.as_object().empty()) {
        for (const auto& [key, member] : value.as_object()) {
            Flatten(member, place.empty() ? std::string(key) : place + "." + std::string(key), to);
        }
    } else if (!place.empty() && !value.is_null()) {
        AppendJson(to[place], value);
    }
}

std::map<std::string, std::string> Flat(const boost::json::value& entry, std::string_view name) {
    std::map<std::string, std::string> flat;
    if (const auto* document = FindMember(entry, name)) Flatten(*document, "", flat);
    return flat;
}

void PrintDiff(const boost::json::value& entry) {
    const auto before = Flat(entry, "before");
    const auto after = Flat(entry, "after");
    const auto print = [](char sign, const std::string& name, const std::string& value) {
        const std::string line =
            std::string("    ") + sign + " " + Clean(name) + ": " + Clean(value, 500);
        std::printf("%s\n", Paint(line, sign == '-' ? Colour::kRed : Colour::kGreen).c_str());
    };
    std::map<std::string, std::string> names = before;
    names.insert(after.begin(), after.end());
    for (const auto& [name, ignored] : names) {
        const auto was = before.find(name);
        const auto is = after.find(name);
        if (was != before.end() && is != after.end() && was->second == is->second) continue;
        if (was != before.end()) print('-', name, was->second);
        if (is != after.end()) print('+', name, is->second);
    }
    if (Member(entry, "cut") == "true") std::printf("    (too large to be kept whole)\n");
}

std::string TargetText(const boost::json::value& entry) {
    const auto* target = FindMember(entry, "target");
    return target ? Member(*target, "kind") + "/" + Member(*target, "id") : "";
}

Table AuditTable() {
    return Table({"AT", "WHO", "ACTION", "TARGET", "FROM", "OUTCOME", "ID"});
}

void AddEntry(Table& table, const boost::json::value& entry) {
    const bool refused = Member(entry, "outcome") == "refused";
    std::string outcome = refused ? "refused " + Member(entry, "status") : "done";
    if (refused && Member(entry, "count") != "1") outcome += " ×" + Member(entry, "count");
    table.Add({ExactTime(Member(entry, "at")),
               Clean(Member(entry, "who"), 30),
               Member(entry, "action"),
               Clean(TargetText(entry), 50),
               Member(entry, "address"),
               {outcome, refused ? Colour::kRed : Colour::kNone},
               Member(entry, "id")});
}

using AuditItems = std::vector<const boost::json::value*>;

void ShowPage(const AuditOptions& options, const AuditItems& items) {
    Table table = AuditTable();
    for (const auto* item : items) {
        AddEntry(table, *item);
        if (!options.diff) continue;
        table.Print();
        PrintDiff(*item);
        table = AuditTable();
    }
    if (!table.empty()) table.Print();
}

class AuditPrinter {
  public:
    explicit AuditPrinter(const AuditOptions& options)
        : options_(options), json_(options.client.json || options.output == "json") {
        if (json_) std::printf("{\"items\":[");
    }

    void Print(const AuditItems& items) {
        if (!json_ && options_.output == "table") {
            ShowPage(options_, items);
        } else {
            for (const auto* item : items) {
                std::string text;
                AppendJson(text, *item);
                std::printf("%s%s%s", json_ && any_ ? "," : "", text.c_str(), json_ ? "" : "\n");
                any_ = true;
            }
        }
        any_ = any_ || !items.empty();
    }

    void End(const std::string& cursor, bool whole) {
        if (json_) {
            std::string next = "null";
            if (!cursor.empty()) {
                next.clear();
                AppendJsonString(next, cursor);
            }
            std::printf("],\"next_cursor\":%s}\n", next.c_str());
        } else if (whole && !any_) {
            std::fprintf(stderr, "nothing matches\n");
        } else if (whole && !cursor.empty()) {
            std::fprintf(stderr, "there are more: --limit, --until, or --all for all of them\n");
        }
    }

  private:
    const AuditOptions& options_;
    const bool json_;
    bool any_ = false;
};

std::string AuditPath(const AuditOptions& options, const Query& more) {
    Query query = {{"who", options.who},
                   {"action", options.action},
                   {"target", options.target},
                   {"outcome", options.outcome}};
    query.insert(query.end(), more.begin(), more.end());
    return WithQuery("/api/v1/audit", query);
}

// Prints entries as they come, oldest first, each once. It asks the store by way of any scheduler, so
// that it goes on while there is no leader; what was being fetched when a scheduler went is
// fetched again, and none of it was printed.
class AuditFollower {
  public:
    AuditFollower(Client& client, const AuditOptions& options)
        : client_(client), options_(options) {}

    // For ever; ends with an error that asking again does not mend.
    Result<int> Run() {
        for (bool begun = false, troubled = false;;) {
            const Result<void> done = begun ? PrintNew() : Begin();
            const bool lasting = !done && done.error().code != ErrorCode::kUnavailable &&
                                 done.error().code != ErrorCode::kUnknown &&
                                 done.error().code != ErrorCode::kExhausted;
            if (!done && (lasting || !begun)) return std::unexpected(done.error());
            if (!done && !troubled) {
                std::fprintf(stderr, "%s; trying again\n", Clean(done.error().detail, 500).c_str());
            }
            troubled = !done;
            if (std::exchange(begun, true)) std::this_thread::sleep_for(kAuditLook);
        }
    }

  private:
    // From --since on, or behind what there is.
    Result<void> Begin() {
        const auto newest = Newest();
        if (!newest) return std::unexpected(newest.error());
        if (options_.at.since.empty()) seen_ = *newest;
        return {};
    }

    // The id of the newest entry of all, whatever the filters: where nothing matches for months,
    // these months are not looked through each time. Empty if there is none.
    Result<std::string> Newest() {
        const auto page = client_.Get(WithQuery("/api/v1/audit", {{"limit", "1"}}));
        if (!page) return std::unexpected(page.error());
        const AuditItems items = ListMember(page->value, "items");
        return items.empty() ? std::string() : Member(*items.front(), "id");
    }

    Result<void> PrintNew() {
        const auto newest = Newest();
        if (!newest) return std::unexpected(newest.error());
        if (*newest <= seen_) return {};  // Ids are of one length, and later ones are greater.
        std::vector<ClientAnswer> pages;
        std::string cursor;
        do {
            auto page =
                client_.Get(AuditPath(options_, {{"after", seen_},
                                                 {"since", seen_.empty() ? options_.at.since : ""},
                                                 {"limit", std::to_string(kAuditPageMax)},
                                                 {"cursor", cursor}}));
            if (!page) return std::unexpected(page.error());
            cursor = Member(page->value, "next_cursor");
            pages.push_back(std::move(*page));
        } while (!cursor.empty());
        seen_ = *newest;
        AuditItems items;
        for (const ClientAnswer& page : std::views::reverse(pages)) {
            const AuditItems later = ListMember(page.value, "items");
            items.insert(items.end(), later.rbegin(), later.rend());
        }
        if (items.empty()) return {};
        seen_ = std::max(seen_, Member(*items.back(), "id"));
        Print(items);
        return {};
    }

    void Print(const AuditItems& items) {
        for (const auto* item : items) {
            std::string text;
            if (options_.lines()) {
                AppendJson(text, *item);
                text += '\n';
            } else {
                Table table = AuditTable();
                AddEntry(table, *item);
                text = table.Text();
                // The names of the columns stand above the first only.
                if (std::exchange(any_, true)) text.erase(0, text.find('\n') + 1);
            }
            std::fwrite(text.data(), 1, text.size(), stdout);
            if (!options_.lines() && options_.diff) PrintDiff(*item);
        }
        std::fflush(stdout);
    }

    Client& client_;
    const AuditOptions& options_;
    std::string seen_;  // The newest entry that was looked at.
    bool any_ = false;
};

// A page at a time. With filters a page may be empty and others follow.
Result<int> Audit(Client& client, const AuditOptions& options) {
    if (options.follow) return AuditFollower(client, options).Run();
    AuditPrinter printer(options);
    std::string cursor;
    std::size_t left = options.all ? SIZE_MAX : options.limit;
    do {
        const auto page =
            client.Get(AuditPath(options, {{"id", options.id},
                                           {"since", options.at.since},
                                           {"until", options.at.until},
                                           {"limit", std::to_string(std::min(left, kAuditPageMax))},
                                           {"cursor", cursor}}));
        if (!page) {
            printer.End("", false);
            return std::unexpected(page.error());
        }
        const auto items = ListMember(page->value, "items");
        printer.Print(items);
        left -= std::min(left, items.size());
        cursor = Member(page->value, "next_cursor");
    } while (left > 0 && !cursor.empty());
    printer.End(cursor, true);
    return kOk;
}

Result<int> Whoami(Client& client, const ClientOptions& options) {
    const auto me = client.Get("/api/v1/me");
    if (!me) return std::unexpected(me.error());
    if (!PrintedAsJson(options, *me)) std::printf("%s", ObjectText(me->value).c_str());
    return kOk;
}

}  // namespace

void AddAudit(CLI::App& app, Context& context) {
    auto options = std::make_shared<AuditOptions>();
    CLI::App* audit = app.add_subcommand("audit", "Who changed what, newest first");
    options->client.Add(*audit);
    CLI::Option* id =
        audit->add_option("id", options->id, "One entry, as listed; with --diff what it changed");
    options->at.Add(*audit, "Done");
    AddFilter(*audit, "--who", options->who, "Name or id of a token; open: where there was none");
    AddFilter(*audit, "--action", options->action, "Part of an action: pause, tasks");
    AddFilter(*audit, "--target", options->target, "An id, or kind/id: nightly, task/nightly");
    AddFilter(*audit, "--outcome", options->outcome, "done or refused [both]");
    audit
        ->add_option("-o,--output", options->output,
                     "table, wide, json, yaml or jsonl, an entry a line")
        ->capture_default_str()
        ->check(CLI::IsMember({"table", "wide", "json", "yaml", "jsonl"}));
    audit->add_flag("--diff", options->diff, "With what changed, before and after");
    CLI::Option* limit = audit->add_option("--limit", options->limit, "How many")
                             ->capture_default_str()
                             ->check(CLI::Range(1, 1'000'000));
    CLI::Option* all = audit->add_flag("--all", options->all, "Every page, to the end");
    audit
        ->add_flag(
            "-f,--follow", options->follow,
            "New ones as they come, oldest first, from --since or now on; json is a line each")
        ->excludes(id)
        ->excludes(audit->get_option("--until"))
        ->excludes(limit)
        ->excludes(all);
    audit->footer(
        "examples:\n"
        "  takt audit --since 1h\n"
        "  takt audit --target task/nightly --diff\n"
        "  takt audit --who ci --outcome refused\n"
        "  takt audit --since 90d --all -o jsonl > audit.jsonl\n"
        "  takt audit --follow -o json | logger -t takt\n");
    audit->callback([options, &context] {
        if (options->output == "wide" || options->output == "yaml") {
            UseFormat(options->output, options->client.json);
            options->output = options->client.json ? "json" : "table";
        }
        context.exit =
            WithClient(options->client, [&](Client& client) { return Audit(client, *options); });
    });
}

void AddWhoami(CLI::App& app, Context& context) {
    auto options = std::make_shared<ClientOptions>();
    CLI::App* whoami =
        app.add_subcommand("whoami", "Who the caller is: role and namespaces of its token");
    options->Add(*whoami);
    whoami->callback([options, &context] {
        context.exit =
            WithClient(*options, [&](Client& client) { return Whoami(client, *options); });
    });
}

}  // namespace takt::internal::cli
