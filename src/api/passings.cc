#include "api/passings.h"

#include <algorithm>

#include "api/audit.h"
#include "api/json_read.h"
#include "api/passed_on.h"
#include "api/services.h"
#include "api/submission.h"

namespace takt::internal {
namespace {

// How long a call waits for a namespace to have a leader, and how often it looks.
constexpr Duration kLeaderAwaited{2'000};
constexpr Duration kLeaderAsked{50};

// How often it is looked whether the leaders of open calls still lead, and how many looks in a row
// have to see another one: a second, in which a leader that lives ends what it had begun.
constexpr Duration kLook{200};
constexpr int kLooksMax = 5;

// A MiB of payload and what is around it. Lines of many tasks are not kept to be sent again.
constexpr std::size_t kKeptBytesMax = (1 << 20) + (64 << 10);

// The callbacks of executors come from anybody who can reach the port, and hosts are not for strangers.
bool MayHearOfHosts(const Call& call) {
    return call.route().permission != Permission::kNone ||
           call.services().access.MayHearOfTheStore(call.request(), ReadClocks().wall);
}

std::string WhyNobodyLeads(const Call& call, const NodeStatus& status) {
    if (status.trouble.empty() || !MayHearOfHosts(call)) {
        return "no scheduler leads at the moment; try again in a second";
    }
    return "no scheduler leads: " + status.trouble;
}

// The same refusal without the words of whoever could not reach the leader, or the store.
Problem WithoutHosts(const HttpResponse& refusal) {
    const auto said = ReadObject(refusal.body, refusal.body.size());
    std::string scratch;
    std::string_view code;
    std::string_view kept = "unknown";
    if (said) {
        for (JsonView::Members members(*said); members.Next();) {
            if (members.key() == "code") code = members.value().AsString(scratch);
        }
    }
    for (const std::string_view untouched : {"no_leader", "unavailable"}) {
        if (code == untouched) kept = untouched;
    }
    return {.status = 503,
            .code = kept,
            .detail = "the leader could not be asked, or not do it now; say it again",
            .retry_after_seconds = 1};
}

// A task that is made under an id of the caller's is made once.
bool MayNameItsId(const Call& call) {
    return call.route().path == "/api/v1/tasks";
}
bool NamesItsId(const Call& call) {
    const auto object = ReadObject(call.request().body, kKeptBytesMax);
    if (!object) return false;
    for (JsonView::Members members(*object); members.Next();) {
        if (members.key() == "id") return members.value().is_string();
    }
    return false;
}

// Whether the new leader may be asked for what the old one may have done, as far as that is known
// without the body.
bool MayBeKept(const Call& call) {
    const HttpRequest& request = call.request();
    // Done once, the condition would not hold the second time, and the answer would be wrong.
    if (request.headers.Find("If-Match") || request.headers.Find("If-None-Match")) return false;
    const bool creates = std::ranges::any_of(call.route().headers, [](const RouteQuery& header) {
        return header.name == kIdempotencyKey.name;
    });
    switch (request.method) {
        case HttpMethod::kPost:
            return call.route().repeatable || (creates && (KeyOf(request) || MayNameItsId(call)));
        case HttpMethod::kPut:
            // The next leader finds that it has ended already: 409 to the one who ended it.
            return call.route().path != "/api/v1/executions/{id}/status";
        case HttpMethod::kPatch:
            return false;
        case HttpMethod::kDelete:
            // The next leader does not find what the first has deleted: 404 to the one who did.
            return false;
        default:
            return true;
    }
}

// A call that waits for an end gets what is stored when there is nobody to wait with, and asks again.
bool WaitsForAnEnd(const Call& call) {
    return call.request().method == HttpMethod::kGet && call.route().waits;
}
void AnswerAsStored(Call call) {
    call.request().raw_query.clear();
    call.route().handler(std::move(call));
}

bool MayBeSentAgain(const Passing& passing) {
    if (!passing.whole) return false;
    const Call& call = passing.call;
    const bool by_id = call.request().method == HttpMethod::kPost && !call.route().repeatable &&
                       !KeyOf(call.request());
    return !by_id || NamesItsId(call);
}

void Leave(Passing passing) {
    passing.cut->Tell();
    const std::shared_ptr<Services> services = passing.call.shared_services();
    services->gate->family->reach->NoteFailure(
        passing.address,
        {ErrorCode::kUnknown, "it has not answered, and another scheduler leads by now", ""},
        SteadyClock::now());
    if (WaitsForAnEnd(passing.call)) return AnswerAsStored(std::move(passing.call));
    if (!MayBeSentAgain(passing)) {
        return passing.call.Refuse(
            {.status = 503,
             .code = "unknown",
             .detail = "the scheduler that led has taken this and not answered, and another one "
                       "leads by now: whether it was done is not known. Look before you send it "
                       "again; what has an id or an Idempotency-Key can be sent again as it is",
             .retry_after_seconds = 1});
    }
    const Route& route = passing.call.route();
    if (route.where == Where::kAnyNode) return route.handler(std::move(passing.call));
    AskLeader(std::move(passing.call));
}

void LookLater(const std::shared_ptr<Gate>& gate) {
    if (!gate->after || !gate->passings.Arm()) return;
    gate->after(kLook, [weak = std::weak_ptr(gate)] {
        const auto gate = weak.lock();
        if (!gate) return;
        gate->passings.Disarm();
        for (Passing& passing : gate->passings.TakeLeft()) Leave(std::move(passing));
        LookLater(gate);
    });
}

void AskUntil(Call call, Steady until) {
    Services& services = call.services();
    const Route& route = call.route();
    if (services.node.leads()) return route.handler(std::move(call));
    const NodeStatus status = services.node.status();
    if (status.role == Role::kLeader) return route.handler(std::move(call));  // Since a moment ago.
    Gate& gate = *services.gate;
    if (CanPassOn(call, status, gate.forward) || !gate.after || SteadyClock::now() >= until) {
        return PassOn(std::move(call), status, route.waits ? gate.stream : gate.forward);
    }
    const std::shared_ptr<Gate> held = services.gate;
    held->after(kLeaderAsked,
                [call = std::move(call), until]() mutable { AskUntil(std::move(call), until); });
}

}  // namespace

std::uint64_t Passings::Add(Passing passing) {
    open_.emplace(++last_, std::move(passing));
    return last_;
}

std::optional<Passing> Passings::Take(std::uint64_t number) {
    auto taken = open_.extract(number);
    if (taken.empty()) return std::nullopt;
    return std::move(taken.mapped());
}

std::size_t Passings::kept_bytes() const {
    std::size_t bytes = 0;
    for (const auto& [number, passing] : open_) bytes += passing.call.request().body.size();
    return bytes;
}

std::vector<Passing> Passings::TakeLeft() {
    std::vector<Passing> left;
    std::map<const Services*, std::uint64_t> epochs;  // Of those who lead now; 0: nobody does.
    for (auto entry = open_.begin(); entry != open_.end();) {
        Passing& passing = entry->second;
        const Services& services = passing.call.services();
        const auto [known, first] = epochs.try_emplace(&services, 0);
        if (first) {
            const NodeStatus status = services.node.status();
            if (status.leader) known->second = status.leader->epoch;
        }
        const bool replaced = known->second != 0 && known->second != passing.epoch;
        passing.looks = replaced ? passing.looks + 1 : 0;
        if (passing.looks < kLooksMax) {
            ++entry;
        } else {
            left.push_back(std::move(passing));
            entry = open_.erase(entry);
        }
    }
    return left;
}

void AskLeader(Call call) {
    AskUntil(std::move(call), SteadyClock::now() + kLeaderAwaited);
}

bool CanPassOn(const Call& call, const NodeStatus& status, const Forward& forward) {
    return forward && status.leader && status.leader->node != status.node &&
           !status.leader->address.empty() && !call.request().headers.Find(kForwarded);
}

void PassOn(Call call, const NodeStatus& status, const Forward& forward) {
    if (!CanPassOn(call, status, forward)) {
        return call.Refuse({.status = 503,
                            .code = "no_leader",
                            .detail = WhyNobodyLeads(call, status),
                            .retry_after_seconds = 1});
    }
    if (IsAudited(call.route())) {
        LogPassedOn(call.route(), call.request(), call.who(), status.leader->node.view());
    }
    const std::shared_ptr<Gate> gate = call.services().gate;
    std::string body = std::move(call.request().body);
    const bool whole = body.size() <= kKeptBytesMax && MayBeKept(call);
    call.request().body = whole ? body : std::string();
    HttpRequest request = call.request();
    request.body = std::move(body);
    request.headers.Add(kForwarded, ForwardedBy(status, request));
    auto cut = std::make_shared<HttpGone>();
    if (request.gone) request.gone->Then([cut] { cut->Tell(); });
    request.gone = cut;
    const std::string address = status.leader->address.str();
    const std::uint64_t number = gate->passings.Add({.call = std::move(call),
                                                     .epoch = status.leader->epoch,
                                                     .address = address,
                                                     .cut = std::move(cut),
                                                     .whole = whole});
    forward(std::move(request), address, [gate, number](HttpResponse response) {
        auto passing = gate->passings.Take(number);
        if (!passing) return;
        if (response.status == 503 && !MayHearOfHosts(passing->call)) {
            return passing->call.Refuse(WithoutHosts(response));
        }
        if (response.status != 503 || !WaitsForAnEnd(passing->call)) {
            return passing->call.TakeReply()(std::move(response));
        }
        // The progress of what runs would be asked of the same leader again, and again: a call that was
        // passed on is not passed on any more.
        passing->call.request().headers.Add(kForwarded, "");
        AnswerAsStored(std::move(passing->call));
    });
    LookLater(gate);
}

}  // namespace takt::internal
