// takt audit: who changed what. takt whoami: who the caller is.
#include <algorithm>
#include <boost/json/object.hpp>
#include <cstdio>
#include <map>

#include "base/json.h"
#include "base/time.h"
#include "cli/client.h"
#include "cli/output.h"

namespace takt::internal::cli {
namespace {

constexpr std::size_t kAuditPageMax = 1000;

struct AuditOptions {
    ClientOptions client;
    std::string id, since, until, who, action, target, outcome;
    std::string output = "table";
    std::size_t limit = 50;
    bool all = false;
    bool diff = false;
};

Result<std::string> MomentOf(const std::string& text, const char* flag) {
    if (text.empty()) return text;
    const auto moment = ParseMoment(text, flag);
    if (!moment) return std::unexpected(moment.error());
    return FormatTime(*moment);
}

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

void ShowPage(const AuditOptions& options, const std::vector<const boost::json::value*>& items) {
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

    void Print(const std::vector<const boost::json::value*>& items) {
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

// A page at a time. With filters a page may be empty and others follow.
Result<int> Audit(Client& client, const AuditOptions& options) {
    const auto since = MomentOf(options.since, "--since");
    if (!since) return std::unexpected(since.error());
    const auto until = MomentOf(options.until, "--until");
    if (!until) return std::unexpected(until.error());
    AuditPrinter printer(options);
    std::string cursor;
    std::size_t left = options.all ? SIZE_MAX : options.limit;
    do {
        const auto page = client.Get(
            WithQuery("/api/v1/audit", {{"id", options.id},
                                        {"since", *since},
                                        {"until", *until},
                                        {"who", options.who},
                                        {"action", options.action},
                                        {"target", options.target},
                                        {"outcome", options.outcome},
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
    audit->add_option("id", options->id, "One entry, as listed; with --diff what it changed");
    audit->add_option("--since", options->since, "From this time on, or so long ago: 1h");
    audit->add_option("--until", options->until, "Before this time, or so long ago");
    audit->add_option("--who", options->who, "Name or id of a token; open: where there was none");
    audit->add_option("--action", options->action, "Part of an action: pause, tasks");
    audit->add_option("--target", options->target, "An id, or kind/id: nightly, task/nightly");
    audit->add_option("--outcome", options->outcome, "done or refused [both]");
    audit->add_option("-o,--output", options->output, "table, json or jsonl, an entry a line")
        ->capture_default_str()
        ->check(CLI::IsMember({"table", "json", "jsonl"}));
    audit->add_flag("--diff", options->diff, "With what changed, before and after");
    audit->add_option("--limit", options->limit, "How many")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    audit->add_flag("--all", options->all, "Every page, to the end");
    audit->footer(
        "examples:\n"
        "  takt audit --since 1h\n"
        "  takt audit --target task/nightly --diff\n"
        "  takt audit --who ci --outcome refused\n"
        "  takt audit --since 90d --all -o jsonl > audit.jsonl\n");
    audit->callback([options, &context] {
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
