#include "api/readiness.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/json.h"
#include "node/shares.h"

namespace takt::internal {
namespace {

// A probe gives up soon, and would then see nothing of what this says.
constexpr Duration kReadyPatience{2'000};

// Is answered once: by the store, or because that takes too long. From any thread.
struct ReadyQuestion {
    explicit ReadyQuestion(Call asked)
        : call(std::move(asked)),
          known(call.services().access.MayHearOfTheStore(call.request(), ReadClocks().wall)),
          spaces(known ? SpacesIfLeaderless(call.services()) : SpaceNames()) {}

    // Any read will do to see that the store answers; who leads the node knows.
    void Answer(const Result<std::vector<NodeRow>>& nodes) {
        if (answered.exchange(true)) return;
        const NodeStatus status = call.services().node.status();
        std::string why;
        const auto cause = [&](std::string_view what, const std::string& detail) {
            return std::string(what) + (known ? ": " + detail : "; its log says why");
        };
        const std::string full = call.services().store.WhyFull();
        if (!status.trouble.empty() && (nodes || status.role == Role::kLeader)) {
            why = cause("the store cannot be written to", status.trouble);
        } else if (!nodes) {
            why = cause("the store cannot be read", nodes.error().detail);
        } else if (!status.leader) {
            const std::string none_may = WhyNoneMay(call.services(), nodes, spaces);
            why = none_may.empty() ? "no scheduler leads" : none_may;
        } else if (status.role == Role::kLoading || status.role == Role::kStopped) {
            why = "this scheduler is " + std::string(Name(status.role));
        }
        if (why.empty() && !full.empty()) return SayReady(cause(kFull, full));
        if (why.empty() && !status.lost.empty()) return SayReady(status.lost);
        if (why.empty()) {
            const std::string reach = ReachTrouble(status);
            return SayReady(reach.empty() ? reach : cause(kNoReach, reach));
        }
        // The first cause: what else fails may follow from it.
        if (!full.empty()) why = cause(kFull, full) + "; " + why;
        call.Refuse({.status = 503,
                     .code = nodes && !status.leader ? "no_leader" : "unavailable",
                     .detail = std::move(why),
                     .retry_after_seconds = 1});
    }

    // Changes that are sent to a follower are passed on to the leader.
    std::string ReachTrouble(const NodeStatus& status) const {
        if (status.role == Role::kLeader || !status.leader) return {};
        const LeaderReach& reach = *call.services().gate->family->reach;
        return reach.TroubleWith(status.leader->address, SteadyClock::now());
    }

    // A full store still ends, purges and renews: a balancer that turned away the reports of
    // executors would keep it from making room. So it is said, and the scheduler is ready.
    void SayReady(const std::string& trouble) {
        std::string body;
        JsonWriter json(body);
        json.BeginObject().Field("status", "ready");
        if (!trouble.empty()) json.Field("trouble", std::string_view(trouble));
        json.EndObject();
        call.Json(200, std::move(body));
    }

    static constexpr std::string_view kNoReach =
        "the leader cannot be reached from here, and changes that are sent here are refused";
    static constexpr std::string_view kFull = "the store is full and no new task is taken";

    Call call;
    const bool known;  // The store names hosts, which are not for strangers; nor are names.
    const SpaceNames spaces;
    std::atomic<bool> answered = false;
};

}  // namespace

SpaceNames SpacesIfLeaderless(const Services& services) {
    SpaceNames names;
    if (services.node.status().leader) return names;
    for (const auto& [name, realm] : services.gate->realms) names.insert(name);
    return names;
}

std::string WhyNoneMay(const Services& services, const Result<std::vector<NodeRow>>& nodes,
                       const SpaceNames& known) {
    const Text name(services.name);
    const auto may = [&](const NodeRow& row) { return Peer{.row = row}.MayLead(name); };
    if (!nodes || nodes->empty() || std::ranges::any_of(*nodes, may)) return {};
    SpaceNames odd;
    for (const NodeRow& row : *nodes) {
        for (const Text& space : row.namespaces) {
            if (!known.empty() && !known.contains(space.view())) odd.insert(space.str());
        }
    }
    std::string why =
        "no scheduler that is there may lead '" + name.str() + "' (scheduler.namespaces";
    for (const std::string& space : odd) {
        why += (space == *odd.begin() ? "; no namespace is known here as '" : ", '") + space + "'";
    }
    return why + ")";
}

void Readyz(Call call) {
    Services& services = call.services();
    const auto question = std::make_shared<ReadyQuestion>(std::move(call));
    if (const auto& after = services.gate->after) {
        after(kReadyPatience, [question] {
            question->Answer(Fail(ErrorCode::kUnavailable,
                                  "it has not answered for " + FormatDuration(kReadyPatience)));
        });
    }
    services.store.Nodes(
        [question](const Result<std::vector<NodeRow>>& nodes) { question->Answer(nodes); });
}

}  // namespace takt::internal
