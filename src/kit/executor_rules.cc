#include "kit/executor_rules.h"

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "base/json.h"
#include "http/client.h"
#include "kit/callback_door.h"
#include "wire/service_status.h"

namespace takt::internal::kit {
namespace {

constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr Duration kAnswerTimeout{10'000};

// The stage of one rule. The first expectation that fails is why it is broken.
struct ExecutorStage {
    const ExecutorKitOptions& options;
    BlockingHttpClient& client;
    CallbackDoor& first;
    CallbackDoor& second;
    std::string broken = {};
    std::string skipped = {};

    bool Expect(bool holds, const std::string& otherwise) {
        if (!holds && broken.empty()) broken = otherwise;
        return holds;
    }
};

struct Order {
    std::string type;
    std::string id;
    std::string token;
    std::vector<std::string> callback_bases;
    bool unknown_field = false;

    std::string path() const { return "/api/v1/executions/" + id + "/callback"; }
};

Order MakeOrder(ExecutorStage& stage, const std::string& type) {
    static int next = 0;
    const std::string id = "kit-" + std::to_string(++next);
    return {.type = type,
            .id = id,
            .token = id + "." + std::to_string(SteadyClock::now().time_since_epoch().count()),
            .callback_bases = {stage.first.url()}};
}

std::string BodyOf(const Order& order, const std::string& parameters) {
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("execution_id", order.id).Field("task_id", "kit." + order.type);
    json.Field("task_name", order.type).Field("type", order.type).Field("attempt", 1);
    json.Key("parameters").Raw(parameters);
    json.Key("metadata").BeginObject().EndObject();
    json.Field("scheduled_at", "2027-01-01T02:00:00.000Z");
    json.Field("deadline", "2037-01-01T02:00:00.000Z");
    json.Field("callback_url", order.callback_bases[0] + order.path());
    json.Field("callback_token", order.token).Key("callback_urls").BeginArray();
    for (const std::string& base : order.callback_bases) json.Value(base + order.path());
    json.EndArray();
    if (order.unknown_field) json.Key("of_a_later_version").BeginObject().EndObject();
    json.EndObject();
    return text;
}

// How it answered: taken, or how the task ended.
struct Answered {
    int status = 0;
    std::string ended;  // success, failed, or empty: by callback.
};

// success, failed, empty if it goes on, or a word that nobody knows.
std::string EndIn(const std::string& body) {
    const auto json = ParseJson(body);
    const auto* object = json ? json->if_object() : nullptr;
    const auto* status = object ? object->if_contains("status") : nullptr;
    if (!status || !status->is_string()) return "";
    const auto known = ParseServiceStatus(status->get_string());
    if (!known) return std::string(status->get_string());
    if (known == ServiceStatus::kGoesOn) return "";
    return known == ServiceStatus::kSuccess ? "success" : "failed";
}

bool IsEnd(std::string_view word) {
    return word == "success" || word == "failed";
}

std::optional<Answered> SendOrder(ExecutorStage& stage, const Order& order) {
    HttpCall call{.method = HttpMethod::kPost,
                  .url = stage.options.url + "/execute",
                  .headers = {{"Content-Type", "application/json"}, {"X-Takt-Token", order.token}},
                  .body = BodyOf(order, stage.options.parameters),
                  .timeout = kAnswerTimeout};
    const auto answer = stage.client.Send(std::move(call));
    if (!answer) {
        stage.Expect(false, "/execute was not answered: " + answer.error().detail);
        return {};
    }
    stage.Expect(answer->body.size() <= kAnswerBytesMax, "the answer is larger than 1 MiB");
    const std::string ended = answer->status == 200 ? EndIn(answer->body) : "";
    stage.Expect(ended.empty() || IsEnd(ended),
                 "/execute was answered with the status '" + ended +
                     "', which is neither an end (success, completed, failed) nor a word for its "
                     "going on (accepted, queued, pending, running)");
    return Answered{answer->status, ended};
}

bool IsTaken(ExecutorStage& stage, const Answered& answered) {
    return stage.Expect(answered.status >= 200 && answered.status < 300,
                        "/execute was answered " + std::to_string(answered.status));
}

// The token may stand in the header or in the body.
bool HasToken(const Callback& callback, const Order& order) {
    return callback.token == order.token || callback.body.contains(order.token);
}

std::optional<Callback> AwaitCallback(ExecutorStage& stage, CallbackDoor& door,
                                      const Order& order) {
    auto callback = door.Await(order.path(), stage.options.patience);
    if (!stage.Expect(callback.has_value(),
                      "no callback came within " + FormatDuration(stage.options.patience))) {
        return {};
    }
    stage.Expect(HasToken(*callback, order), "the callback has not the token of the order");
    stage.Expect(IsEnd(EndIn(callback->body)),
                 "the callback's status is neither success nor failed");
    return callback;
}

constexpr const char* kAtOnce = "it answers with the end at once, and calls nobody back";

void IsHealthy(ExecutorStage& stage) {
    const std::string url =
        stage.options.health_url.empty() ? stage.options.url + "/health" : stage.options.health_url;
    const auto answer = stage.client.Send({.url = url, .timeout = kAnswerTimeout});
    if (answer && answer->status == 404 && stage.options.health_url.empty()) {
        stage.skipped = "there is no page /health, and --health names none";
        return;
    }
    stage.Expect(
        answer && answer->status >= 200 && answer->status < 300,
        answer ? url + " was answered " + std::to_string(answer->status) : answer.error().detail);
}

void EndsAs(ExecutorStage& stage, const Order& order, const std::string& wanted) {
    const auto answered = SendOrder(stage, order);
    if (!answered) return;
    if (wanted == "failed" && answered->status >= 500) return;
    if (!IsTaken(stage, *answered)) return;
    std::string ended = answered->ended;
    if (ended.empty()) {
        const auto callback = AwaitCallback(stage, stage.first, order);
        if (!callback) return;
        ended = EndIn(callback->body);
    }
    stage.Expect(ended == wanted, "the task ended as '" + ended + "'");
}

void RunsAnOrder(ExecutorStage& stage) {
    EndsAs(stage, MakeOrder(stage, stage.options.task), "success");
}

void TellsItsFailure(ExecutorStage& stage) {
    if (stage.options.fail.empty()) {
        stage.skipped = "--fail names no task that fails";
        return;
    }
    EndsAs(stage, MakeOrder(stage, stage.options.fail), "failed");
}

void SkipsFieldsOfLaterVersions(ExecutorStage& stage) {
    Order order = MakeOrder(stage, stage.options.task);
    order.unknown_field = true;
    EndsAs(stage, order, "success");
}

// A scheduler is restarting: it is told again.
void CallsBackUntilItIsHeard(ExecutorStage& stage) {
    stage.first.SetStatus(503);
    const Order order = MakeOrder(stage, stage.options.task);
    const auto answered = SendOrder(stage, order);
    if (answered && !answered->ended.empty()) stage.skipped = kAtOnce;
    if (answered && answered->ended.empty() && AwaitCallback(stage, stage.first, order)) {
        stage.first.SetStatus(200);
        AwaitCallback(stage, stage.first, order);
    }
    stage.first.SetStatus(200);
}

// The scheduler that gave the order is gone; any other will do.
void TriesAllSchedulers(ExecutorStage& stage) {
    Order order = MakeOrder(stage, stage.options.task);
    order.callback_bases = {"http://127.0.0.1:1", stage.second.url()};
    const auto answered = SendOrder(stage, order);
    if (!answered) return;
    if (!answered->ended.empty()) {
        stage.skipped = kAtOnce;
        return;
    }
    AwaitCallback(stage, stage.second, order);
}

// A new leader cannot know whether the order arrived: it comes again, from another address.
void TakesTheNewestOrder(ExecutorStage& stage) {
    Order order = MakeOrder(stage, stage.options.task);
    stage.first.SetStatus(503);
    const auto answered = SendOrder(stage, order);
    if (!answered || !IsTaken(stage, *answered)) return stage.first.SetStatus(200);
    order.callback_bases = {stage.second.url()};
    const auto again = SendOrder(stage, order);
    if (again && IsTaken(stage, *again) && again->ended.empty()) {
        AwaitCallback(stage, stage.second, order);
    }
    stage.first.SetStatus(200);
}

struct ExecutorRule {
    const char* name;
    const char* section;
    const char* sentence;
    void (*test)(ExecutorStage&);
};

constexpr std::array<ExecutorRule, 7> kExecutorRules = {{
    {"health", "Health", "Its health page answers 2xx.", IsHealthy},
    {"order", "Be called", "An order is taken, and its end is told with its token.", RunsAnOrder},
    {"failure", "Be called", "A failure is told as one.", TellsItsFailure},
    {"unknown_fields", "Be called", "Fields that it does not know are skipped.",
     SkipsFieldsOfLaterVersions},
    {"same_order", "Be called", "An order that comes again is taken, and the newest counts.",
     TakesTheNewestOrder},
    {"callback_again", "Call back", "A callback that is answered 503 is said again.",
     CallsBackUntilItIsHeard},
    {"callback_urls", "Call back", "All callback_urls are tried.", TriesAllSchedulers},
}};

}  // namespace

Result<std::vector<RuleReport>> TestExecutor(
    const ExecutorKitOptions& options, const std::function<void(const RuleReport&)>& on_report) {
    if (auto json = ParseJson(options.parameters); !json) {
        return Fail(ErrorCode::kInvalid, "--parameters is no JSON: " + json.error().detail,
                    "--parameters");
    }
    auto client = BlockingHttpClient::Create({});
    if (!client) return std::unexpected(client.error());
    // An executor that is not there breaks no rule.
    const auto there = (*client)->Send({.url = options.url + "/", .timeout = kAnswerTimeout});
    if (!there) return Fail(ErrorCode::kUnavailable, there.error().detail);
    auto first = CallbackDoor::Listen(options.host);
    if (!first) return std::unexpected(first.error());
    auto second = CallbackDoor::Listen(options.host);
    if (!second) return std::unexpected(second.error());
    std::vector<RuleReport> reports;
    for (const ExecutorRule& rule : kExecutorRules) {
        ExecutorStage stage{options, **client, **first, **second};
        rule.test(stage);
        RuleReport report{rule.name, rule.section, rule.sentence};
        report.Judge(stage.broken, stage.skipped);
        reports.push_back(report);
        on_report(report);
    }
    return reports;
}

}  // namespace takt::internal::kit
