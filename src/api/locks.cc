// Locks: acquire, renew, release; see and size them, take them away.
#include "api/audit.h"
#include "api/call_body.h"
#include "api/call_flow.h"
#include "api/lock_json.h"
#include "api/query.h"
#include "api/request_kinds.h"
#include "api/resources.h"
#include "api/schemas.h"
#include "api/services.h"
#include "http/gone.h"
#include "links/hello.h"
#include "model/lock.h"

namespace takt::internal {
namespace {

constexpr Duration kTtlMin{1'000};
constexpr Duration kTtlMax{3'600'000};
// Below what a scheduler that passes the question on waits for an answer.
constexpr Duration kWaitMax{50'000};
constexpr std::size_t kOwnerBytesMax = 200;
constexpr std::size_t kRequestIdBytesMax = 255;
constexpr std::int64_t kTokenMax = std::int64_t{1} << 53;  // Exact in JSON.

std::optional<Text> LockName(Call& call) {
    const std::string_view name = call.request().Parameter("name");
    if (IsValidLockName(name)) return Text(name);
    call.RefuseRequest(BadField("name",
                                "must be 1 to 128 characters of A-Z a-z 0-9 . _ ~ - and start with "
                                "a letter or digit")
                           .error());
    return std::nullopt;
}

// --- Acquire, renew, release --------------------------------------------------------------------

// A token is told back by whoever has seen it, so that tokens rise above it whatever a store lost.
template <typename Input>
struct WithToken : Input {
    std::int64_t last_token = 0;
};
using AcquireBody = WithToken<AcquireLock>;

template <typename Input>
RequestField<WithToken<Input>> LastTokenField() {
    using Body = WithToken<Input>;
    return {"last_token",
            "The highest token that the caller was ever given; later ones are above it.",
            TakenBy<Body>::Count(&Body::last_token, {0, kTokenMax})};
}

// Whether a later term than this node's has given a token. Then this one gives up its lead and
// begins again above it, and the caller is told to ask again.
bool IsBehind(Call& call, std::int64_t last_token) {
    const std::uint64_t epoch = static_cast<std::uint64_t>(last_token) >> 32;
    if (epoch == 0) return false;
    Node& node = call.services().node;
    const NodeStatus status = node.status();
    if (epoch <= status.epoch) return false;
    const std::uint64_t known = std::max(status.epoch, status.leader ? status.leader->epoch : 0);
    if (!IsLikelyEpoch(epoch, known)) {
        call.RefuseRequest(
            BadField("last_token",
                     "was never given here: it is another cluster's, or the store was "
                     "emptied since")
                .error());
        return true;
    }
    node.NoteEpoch(epoch);
    call.RefuseAnswer({.code = ErrorCode::kUnavailable,
                       .detail = "a later term has given a higher token; ask again"});
    return true;
}

Taken<AcquireBody> TakenTtl() {
    Taken<AcquireBody> taken = TakenBy<AcquireBody>::Duration(&AcquireBody::ttl, kTtlMin);
    taken.words = "duration of 1s to 1h";
    taken.read = [read = std::move(taken.read)](AcquireBody& acquire, const JsonView& value,
                                                std::string_view name) -> Result<void> {
        auto done = read(acquire, value, name);
        if (done && acquire.ttl > kTtlMax) {
            return BadField(name, "must be 1s to 1h; renew it to hold it longer");
        }
        return done;
    };
    return taken;
}

Taken<AcquireBody> TakenWait() {
    Taken<AcquireBody> taken = TakenBy<AcquireBody>::Duration(&AcquireBody::wait, Duration(0));
    taken.words = "duration of up to 50s";
    taken.read = [read = std::move(taken.read)](AcquireBody& acquire, const JsonView& value,
                                                std::string_view name) -> Result<void> {
        auto done = read(acquire, value, name);
        if (done && acquire.wait > kWaitMax) {
            return BadField(name,
                            "must be at most 50s; to wait longer ask again at once with the same "
                            "request_id, which keeps your place in line");
        }
        return done;
    };
    return taken;
}

const RequestTable<AcquireBody>& AcquireFields() {
    using Take = TakenBy<AcquireBody>;
    static const RequestTable<AcquireBody> fields = {
        {"ttl", "The lease, 1s to 1h: how long it lasts unless it is renewed. 30s unless given.",
         TakenTtl()},
        {"wait", "How long to stand in line, up to 50s. 0s unless given.", TakenWait()},
        {"permits", "Of those that the lock has; 1 unless given.",
         Take::Count(&AcquireBody::permits, {1, kLockPermitsMax})},
        {"owner", "For people; the name of the token unless given.",
         Take::Text(&AcquireBody::owner, kOwnerBytesMax)},
        {"request_id", "The same again gives the same answer.",
         Take::Text(&AcquireBody::request_id, kRequestIdBytesMax)},
        LastTokenField<AcquireLock>(),
    };
    return fields;
}

template <typename Input>
const RequestTable<WithToken<Input>>& LockIdFields() {
    using Body = WithToken<Input>;
    static const RequestTable<Body> fields = {
        {"lock_id", "As acquire has answered it.",
         TakenBy<Body>::Text(&Body::lock_id, kIdBytesMax).Required()},
        LastTokenField<Input>()};
    return fields;
}

const RequestTable<SetLock>& SizeFields() {
    static const RequestTable<SetLock> fields = {
        {"permits", "How many there are.",
         TakenBy<SetLock>::Count(&SetLock::permits, {1, kLockPermitsMax}).Required()}};
    return fields;
}

void SendGiven(Call& call, const Text& name, const LockAnswer& answer) {
    std::string body;
    JsonWriter json(body);
    WriteLockGiven(json, {name.view(), answer});
    call.Json(200, std::move(body));
}

// It could not be had in time: says who has it.
void SendBusy(Call& call, const Text& name, const LockAnswer& answer) {
    Problem problem{
        .status = 409, .code = "conflict", .detail = "lock '" + name.str() + "' is held by others"};
    HttpResponse response;
    response.status = problem.status;
    response.content_type = "application/problem+json";
    JsonWriter json(response.body);
    json.BeginObject();
    WriteProblemFields(json, problem, call.request().request_id);
    json.Key("holders");
    WriteLockHolders(json, answer.holders);
    json.EndObject();
    call.Send(std::move(response));
}

// A question that may stand in line leaves it when its caller closes the connection.
void WithdrawWhenGone(Call& call, AcquireLock& acquire) {
    const std::shared_ptr<HttpGone> gone = call.request().gone;
    if (!gone || acquire.wait <= Duration(0)) return;
    Services& services = call.services();
    WithdrawLock withdraw{.name = acquire.name};
    withdraw.caller = acquire.caller = services.random.Next();
    if (acquire.request_id.empty()) {
        withdraw.for_good = true;
        acquire.request_id = Text("gone-" + std::to_string(services.random.Next()) + "-" +
                                  std::to_string(services.random.Next()));
    }
    withdraw.request_id = acquire.request_id;
    // The call is not answered yet when it is told: the namespace is still there.
    gone->Then([&node = services.node, withdraw = std::move(withdraw)] { node.Tell(withdraw); });
}

void AcquireCall(Call call) {
    auto name = LockName(call);
    if (!name) return;
    AcquireBody body;
    body.ttl = Duration(30'000);
    auto acquire = ReadBody(call, AcquireFields(), std::move(body));
    if (!acquire) return call.RefuseRequest(acquire.error());
    if (IsBehind(call, acquire->last_token)) return;
    acquire->token_seen = static_cast<std::uint64_t>(acquire->last_token);
    acquire->name = *name;
    if (acquire->owner.empty()) acquire->owner = Text(call.who().name);
    WithdrawWhenGone(call, *acquire);
    Node& node = call.services().node;
    node.Ask(
        static_cast<AcquireLock&&>(std::move(*acquire)),
        [call = std::move(call), name = std::move(*name)](const Result<Answer>& answer) mutable {
            if (!answer) return call.RefuseAnswer(answer.error());
            answer->lock->held ? SendGiven(call, name, *answer->lock)
                               : SendBusy(call, name, *answer->lock);
        });
}

template <typename Input>
void HeldCall(Call call) {
    auto name = LockName(call);
    if (!name) return;
    auto input = ReadBody(call, LockIdFields<Input>());
    if (!input) return call.RefuseRequest(input.error());
    if (IsBehind(call, input->last_token)) return;
    input->name = *name;
    Node& node = call.services().node;
    node.Ask(static_cast<Input&&>(std::move(*input)),
             [call = std::move(call), name = *name](const Result<Answer>& answer) mutable {
                 if (!answer) return call.RefuseAnswer(answer.error());
                 SendGiven(call, name, *answer->lock);
             });
}

// --- Seeing and operating -----------------------------------------------------------------------

void ListLocks(Call call) {
    const auto limit = QueryCount(call.request(), "limit");
    if (!limit) return call.RefuseRequest(limit.error());
    Text after;
    if (const auto cursor = call.request().Query("cursor")) {
        if (!IsValidLockName(*cursor)) {
            return call.RefuseRequest(
                BadField("cursor", "is not the next_cursor of an earlier answer").error());
        }
        after = Text(*cursor);
    }
    WithEngine(std::move(call),
               [limit = *limit, after = std::move(after)](Call call, const Engine& engine) {
                   std::string body;
                   JsonWriter json(body);
                   json.BeginObject().Key("items").BeginArray();
                   // One more than the page holds tells whether there is another.
                   const auto locks = engine.LocksAfter(after, limit + 1);
                   const std::size_t shown = std::min<std::size_t>(locks.size(), limit);
                   for (std::size_t i = 0; i < shown; ++i) WriteLock(json, locks[i]);
                   std::optional<std::string> next;
                   if (locks.size() > shown) next = locks[shown - 1].name.str();
                   EndPage(json, next);
                   call.Json(200, std::move(body));
               });
}

// A lock that nobody has ever named is as free as any other.
void SendLock(Call call, Text name, Error not_there = LeaderChanged()) {
    WithEngine(
        std::move(call),
        [name = std::move(name)](Call call, const Engine& engine) {
            std::string body;
            JsonWriter json(body);
            WriteLock(json, engine.FindLock(name).value_or(LockView{.name = name}));
            call.Json(200, std::move(body));
        },
        std::move(not_there));
}

void GetLock(Call call) {
    auto name = LockName(call);
    if (name) SendLock(std::move(call), std::move(*name));
}

template <typename Input>
void ChangeLock(Call call, Input input) {
    Node& node = call.services().node;
    Text name = input.name;
    input.by = ActOf(call);
    node.Ask(std::move(input), [call = std::move(call),
                                name = std::move(name)](const Result<Answer>& answer) mutable {
        if (!answer) return call.RefuseAnswer(answer.error());
        SendLock(std::move(call), std::move(name), DoneButNotShown());
    });
}

void PutLock(Call call) {
    auto name = LockName(call);
    if (!name) return;
    auto set = ReadBody(call, SizeFields());
    if (!set) return call.RefuseRequest(set.error());
    set->name = std::move(*name);
    ChangeLock(std::move(call), std::move(*set));
}

void DeleteLock(Call call) {
    auto name = LockName(call);
    if (!name) return;
    FreeLock free{.name = std::move(*name)};
    if (const auto id = call.request().Query("lock_id")) {
        if (!IsValidId(*id)) {
            return call.RefuseRequest(BadField("lock_id", "is not the id of a holder").error());
        }
        free.lock_id = Text(*id);
    }
    ChangeLock(std::move(call), std::move(free));
}

}  // namespace

void AddLockSchemas(SchemaList& to) {
    to.emplace_back("LockWant", schema::Object()
                                    .Add("name", schema::Text())
                                    .Add("permits", schema::Integer(1, kLockPermitsMax), false)
                                    .Text());
    to.emplace_back("LockHolder", LockHolderSchema());
    to.emplace_back("LockWaiter", LockWaiterSchema());
    to.emplace_back("Lock", LockSchema());
    to.emplace_back("LockList", schema::PageOf("Lock"));
    to.emplace_back("LockGiven", LockGivenSchema());
    to.emplace_back("LockSize", RequestSchema(SizeFields()));
    to.emplace_back("LockAcquire", RequestSchema(AcquireFields()));
    to.emplace_back("LockId", RequestSchema(LockIdFields<RenewLock>()));
}

void AddLockRoutes(std::vector<Route>& routes) {
    const auto add = [&](Route route) {
        route.where = Where::kLeader;
        route.tag = "locks";
        routes.push_back(std::move(route));
    };
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/locks",
         .permission = Permission::kViewer,
         .handler = ListLocks,
         .summary = "List locks that somebody holds, waits for, or that have a size of their own",
         .query = {{"limit", "1 to 1000; 100 unless given."},
                   {"cursor", "next_cursor of the page before."}},
         .gives = "LockList"});
    add({.method = HttpMethod::kGet,
         .path = "/api/v1/locks/{name}",
         .permission = Permission::kViewer,
         .handler = GetLock,
         .summary = "Get a lock: who holds it, who waits",
         .gives = "Lock"});
    add({.method = HttpMethod::kPut,
         .path = "/api/v1/locks/{name}",
         .permission = Permission::kOperator,
         .handler = PutLock,
         .summary = "Say how many permits a lock has; 1 unless said",
         .takes = "LockSize",
         .gives = "Lock"});
    add({.method = HttpMethod::kDelete,
         .path = "/api/v1/locks/{name}",
         .permission = Permission::kOperator,
         .handler = DeleteLock,
         .summary = "Take a lock away from a holder, or from all",
         .query = {{"lock_id", "From this holder only."}},
         .gives = "Lock"});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/locks/{name}/acquire",
         .permission = Permission::kOperator,
         .handler = AcquireCall,
         .summary = "Acquire a lock; answers when it has it, 409 with holders if not in time",
         .takes = "LockAcquire",
         .body_optional = true,
         .gives = "LockGiven",
         .routine = true,
         .waits = true});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/locks/{name}/renew",
         .permission = Permission::kOperator,
         .handler = HeldCall<RenewLock>,
         .summary = "Begin a lease anew; 409 if it is no longer held",
         .takes = "LockId",
         .gives = "LockGiven",
         .routine = true});
    add({.method = HttpMethod::kPost,
         .path = "/api/v1/locks/{name}/release",
         .permission = Permission::kOperator,
         .handler = HeldCall<ReleaseLock>,
         .summary = "Release a lock; 409 if it is no longer held",
         .takes = "LockId",
         .gives = "LockGiven",
         .routine = true});
}

}  // namespace takt::internal
