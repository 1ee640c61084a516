// takt doctor: what an operator would look at first, looked at: each line says how it is and, if it is
// not well, what to do next.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/json.h"
#include "cli/checkup.h"
#include "cli/client.h"
#include "cli/clocks_apart.h"
#include "cli/context.h"
#include "cli/doctor.h"
#include "cli/output.h"
#include "takt/version.h"

namespace takt::internal::cli {
namespace {

struct DoctorOptions {
    ClientOptions client;
};

// Beyond these a person should know, and beyond the second of each pair something suffers.
constexpr double kSlowStoreMs = 50, kTooSlowStoreMs = 500;
constexpr Duration kSkew{1'000}, kTooMuchSkew{10'000};
constexpr std::size_t kProbes = 5;
// One probe is enough of a store that takes longer.
constexpr double kProbesMs = 1'000;
constexpr const char* kStatusPath = "/api/v1/scheduler/status";
constexpr const char* kSeeToTheStore =
    "see to the store; docs/operating.md, \"When something is wrong\"";

double MillisecondsSince(Steady begin) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

// The median of some calls; negative if one failed.
double TimeOf(Client& client, const char* path) {
    std::vector<double> times;
    const Steady first = SteadyClock::now();
    while (times.empty() || (times.size() < kProbes && MillisecondsSince(first) < kProbesMs)) {
        const Steady begin = SteadyClock::now();
        if (!client.Get(path)) return -1;
        times.push_back(MillisecondsSince(begin));
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
}

// Whether it answers; how fast, or why not.
bool CheckTheStore(Client& client, const boost::json::value& status, Checkup& checkup) {
    const auto* store = FindMember(status, "store");
    const std::string name = store ? Member(*store, "description") : "the store";
    const std::string trouble = store ? Member(*store, "trouble") : "";
    const bool answers = store && Member(*store, "reachable") == "true";
    if (!trouble.empty() || !answers) {
        checkup.Bad("store", name + ": " + (trouble.empty() ? "cannot be reached" : trouble),
                    kSeeToTheStore);
        return answers;
    }
    // The status asks the store one thing, health asks it nothing.
    const double asked = TimeOf(client, kStatusPath);
    const double alive = TimeOf(client, "/healthz");
    if (asked < 0 || alive < 0) {
        checkup.Bad("store", name + ": the scheduler stopped answering", kSeeToTheStore);
        return false;
    }
    const double took = std::max(0.0, asked - alive);
    const std::string said = fmt::format("{} answers a read in {:.1f} ms", name, took);
    const char* next =
        "look at the store's machine and at the way to it; every submit waits for it";
    if (took < kSlowStoreMs) {
        checkup.Ok("store", said);
    } else {
        took < kTooSlowStoreMs ? checkup.Warn("store", said, next)
                               : checkup.Bad("store", said, next);
    }
    return true;
}

// Not the store's matter: nobody may lead, or it is loading what is stored.
void CheckReady(Client& client, Checkup& checkup) {
    const auto ready = client.Get("/readyz");
    if (ready) return;
    checkup.Bad("scheduler", "not ready: " + ready.error().detail,
                "docs/operating.md, \"When something is wrong\"");
}

// How a duration of Prometheus text sums up: {seconds, number}.
std::pair<double, double> SumOf(std::string_view text, std::string_view name) {
    std::pair<double, double> sum{0, 0};
    for (; !text.empty(); text.remove_prefix(std::min(text.find('\n') + 1, text.size()))) {
        const std::string_view line = text.substr(0, text.find('\n'));
        if (line.size() + 1 > text.size()) break;
        if (!line.starts_with(name)) continue;
        const double value = std::strtod(line.data() + line.rfind(' '), nullptr);
        if (line.substr(name.size()).starts_with("_sum")) sum.first += value;
        if (line.substr(name.size()).starts_with("_count")) sum.second += value;
    }
    return sum;
}

void CheckCommits(Client& client, Checkup& checkup) {
    const auto metrics = client.GetText("/metrics");
    if (!metrics) {
        return checkup.Warn("commits", "no metrics: " + metrics.error().detail,
                            "set metrics.enabled to see how long commits take");
    }
    const auto [seconds, count] = SumOf(*metrics, "takt_store_commit_duration_seconds");
    if (count == 0) return checkup.Ok("commits", "none by this scheduler so far");
    const double mean = seconds / count * 1'000;
    const std::string said = fmt::format("{:.0f} so far, {:.1f} ms each", count, mean);
    if (mean < kSlowStoreMs) return checkup.Ok("commits", said);
    checkup.Warn("commits", said, "a slow disk, a replica that is waited for, or a busy store");
}

// --- Schedulers ---------------------------------------------------------------------------------

std::optional<ClockAnswer> AskClock(Client& client) {
    ClockAnswer answer{.asked = ReadClocks().wall};
    const auto status = client.Get(kStatusPath);
    answer.answered = ReadClocks().wall;
    if (!status) return std::nullopt;
    const auto said = ParseTime(Member(status->value, "now"));
    if (!said) return std::nullopt;  // A version before this one does not tell.
    answer.said = *said;
    return answer;
}

void TellClocks(const ClocksApart& clocks, Checkup& checkup) {
    const auto seconds = [](Duration lasting) { return double(lasting.count()) / 1'000; };
    if (clocks.surely() < kSkew) {
        return checkup.Ok("clocks", clocks.hidden() < kSkew
                                        ? "less than a second apart, this machine's too"
                                        : fmt::format("not seen apart; an answer took {:.1f} s, "
                                                      "which hides as much",
                                                      seconds(clocks.hidden())));
    }
    const std::string said = fmt::format("{:.1f} s apart, {}'s furthest from this machine's",
                                         seconds(clocks.surely()), clocks.furthest());
    const char* next = "run chrony or systemd-timesyncd everywhere; cron fires by these clocks";
    clocks.surely() < kTooMuchSkew ? checkup.Warn("clocks", said, next)
                                   : checkup.Bad("clocks", said, next);
}

void CheckClocks(const ClientOptions& options, const boost::json::value& status, Checkup& checkup) {
    ClocksApart clocks;
    for (const auto* node : ListMember(status, "nodes")) {
        const std::string name = Member(*node, "node_id");
        ClientOptions there = options;
        there.server = Member(*node, "address");
        // A token that came by TLS does not go without.
        if (options.server.starts_with("https:") && !there.server.starts_with("https:")) {
            there.token.clear();
        }
        auto client = Client::Open(there);
        const auto answer = client ? AskClock(*client) : std::nullopt;
        if (answer) {
            clocks.Add(name, *answer);
        } else {
            checkup.Warn("schedulers", name + " at " + there.server + " does not answer from here",
                         "fine if that network is not yours; else look at its machine and log");
        }
    }
    TellClocks(clocks, checkup);
}

void CheckVersions(const boost::json::value& status, Checkup& checkup) {
    std::set<std::string> versions;
    for (const auto* node : ListMember(status, "nodes")) versions.insert(Member(*node, "version"));
    std::string list;
    for (const std::string& version : versions) list += (list.empty() ? "" : ", ") + version;
    if (versions.size() > 1) {
        return checkup.Warn("versions", "schedulers run " + list,
                            "fine during an upgrade; finish it, docs/upgrading.md");
    }
    if (!versions.contains(kVersion)) {
        return checkup.Warn("versions", "schedulers run " + list + ", this command is " + kVersion,
                            "use the command of the same version");
    }
    checkup.Ok("versions", "all are " + list);
}

void CheckLeaders(const boost::json::value& spaces, Checkup& checkup) {
    std::size_t led = 0;
    for (const auto* space : ListMember(spaces, "items")) {
        const auto* leader = FindMember(*space, "leader");
        if (leader && leader->is_object()) {
            ++led;
        } else if (Member(*space, "state") == "active") {
            checkup.Bad(
                "leaders", "nobody leads namespace " + Member(*space, "name"),
                "takt status says why; is scheduler.namespaces of every scheduler without it?");
        }
    }
    checkup.Ok("leaders", fmt::format("led namespaces: {}", led));
}

Result<int> Doctor(Client& client, const DoctorOptions& options) {
    Checkup checkup;
    const auto resolved = InContext(options.client);
    if (!resolved) return std::unexpected(resolved.error());
    const auto status = client.Get(kStatusPath);
    if (!status) {
        // A scheduler that lives and cannot tell who leads: its store does not answer.
        const bool away = status.error().code == ErrorCode::kUnavailable && client.Get("/healthz");
        if (!away) return std::unexpected(status.error());
        checkup.Bad("store", status.error().detail, kSeeToTheStore);
        return checkup.Print(options.client.json);
    }
    const bool answers = CheckTheStore(client, status->value, checkup);
    CheckCommits(client, checkup);
    if (!answers) {
        // Each further question would be waited for, and what the status lacks need not be wrong.
        checkup.Warn("others", "not looked at: the store would have to answer for them",
                     "give takt doctor again when it does");
        return checkup.Print(options.client.json);
    }
    CheckReady(client, checkup);
    CheckClocks(*resolved, status->value, checkup);
    CheckVersions(status->value, checkup);
    const auto spaces = client.Get("/api/v1/namespaces");
    if (!spaces) {
        // The store went away under a scheduler that is in use: what was seen is told all the same.
        checkup.Bad("leaders", spaces.error().detail, kSeeToTheStore);
        return checkup.Print(options.client.json);
    }
    CheckLeaders(spaces->value, checkup);
    for (const auto& checked : {CheckFleet(client, checkup), CheckAlerts(client, checkup),
                                CheckRoom(*resolved, {status->value, spaces->value}, checkup)}) {
        // A namespace without a leader cannot be asked; the rest is told all the same.
        if (!checked) checkup.Bad("answers", checked.error().detail, "takt status says why");
    }
    CheckQuotas(*resolved, spaces->value, checkup);
    return checkup.Print(options.client.json);
}

}  // namespace

void AddDoctor(CLI::App& app, Context& context) {
    auto options = std::make_shared<DoctorOptions>();
    CLI::App* doctor = app.add_subcommand(
        "doctor", "Looks a cluster over: each line ok, warn or bad, and what to do");
    options->client.Add(*doctor);
    doctor->footer(
        "Exit status 1 if something is bad; what is only worth a warning does not count.\n"
        "examples:\n"
        "  takt doctor\n"
        "  takt doctor -o json | jq -r '.checks[] | select(.status == \"bad\") | .message'\n");
    doctor->callback([options, &context] {
        context.exit =
            WithClient(options->client, [&](Client& client) { return Doctor(client, *options); });
    });
}

}  // namespace takt::internal::cli
