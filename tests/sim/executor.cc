#include "sim/executor.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <utility>

#include "base/json.h"

namespace takt::internal::sim {
namespace {

// How long an executor waits for an answer of a scheduler's.
constexpr Micros kSchedulerPatience = 2s;
constexpr Micros kHeartbeat = 1s;
// So often it tries to tell how an attempt ended, until it is asked again.
constexpr int kTries = 30;
// Registers again from time to time: whoever was removed is back then.
constexpr int kHeartbeatsToRegister = 7;

std::string BodyOf(const Said& said) {
    std::string body;
    JsonWriter json(body);
    json.BeginObject().Field("status", said.success ? "success" : "failed");
    if (said.success) {
        json.Key("result").Raw(said.text);
    } else {
        json.Field("error", std::string_view(said.text));
    }
    json.EndObject();
    return body;
}

HttpAnswer AnswerOf(int status, std::string body = {}) {
    return {.status = status, .headers = {}, .body = std::move(body)};
}

}  // namespace

SimExecutor::SimExecutor(Cluster& cluster, int number, std::uint32_t capacity)
    : cluster_(cluster),
      checker_(*cluster.executor_checker),
      name_("executor-" + std::to_string(number)),
      capacity_(capacity),
      has_health_(cluster.world.Chance(0.6)),
      names_processes_(cluster.world.Chance(0.6)) {
    cluster.checker.OnWorker(name_, capacity);
    cluster.web->Listen(
        host(), {[this] { return process_; },
                 [this](const HttpCall& call, const SimWeb::Reply& reply) { Serve(call, reply); }});
}

void SimExecutor::Start() {
    if (up_) return;
    up_ = true;
    ++instance_;
    Note("starts as instance", "", std::uint64_t(instance_));
    process_ = std::make_shared<Process>();
    Register();
    Beat();
}

void SimExecutor::Crash() {
    if (!up_) return;
    Note("dies with in hand", "", runs_.size());
    up_ = false;
    process_->alive = false;
    runs_.clear();
    cluster_.web->Reset(process_);
}

void SimExecutor::Freeze(Micros time) {
    if (!up_) return;
    Note("is frozen for ms", "", std::uint64_t(time.count() / 1000));
    process_->frozen_until = std::max(process_->frozen_until, cluster_.world.now() + time);
    // It is silent until then.
    cluster_.world.After(time, nullptr, [this] { checker_.OnDoubted(name_); });
    checker_.OnDoubted(name_);
}

// --- What it asks of schedulers -----------------------------------------------------------------

void SimExecutor::Ask(std::function<void(PushLink&, Done<void>)> ask, Done<void> done) {
    World& world = cluster_.world;
    SimNode* node = cluster_.nodes[world.Below(cluster_.nodes.size())].get();
    for (const auto& candidate : cluster_.nodes) {
        if (candidate->leads()) node = candidate.get();
    }
    auto waiting = std::make_shared<Done<void>>(std::move(done));
    const auto answer = [&world, waiting](Micros delay, Result<void> result) {
        world.After(delay, nullptr, [waiting, result = std::move(result)]() mutable {
            if (*waiting) std::exchange(*waiting, {})(std::move(result));
        });
    };
    answer(kSchedulerPatience, internal::Fail(ErrorCode::kUnknown, "no answer in time"));
    world.After(world.Between(50us, cluster_.network_max), nullptr, [this, node, ask, answer] {
        const Micros back = cluster_.world.Between(50us, cluster_.network_max);
        if (!node->push()) return answer(back, internal::Fail(ErrorCode::kUnavailable, "refused"));
        ask(node->push()->link(),
            [answer, back](Result<void> result) { answer(back, std::move(result)); });
    });
}

void SimExecutor::Register() {
    Worker row;
    row.id = WorkerId(Text(name_));
    row.name = Text("simulated");
    row.link = LinkKind::kPush;
    row.group = Text("simulated");
    row.capacity = capacity_;
    if (names_processes_) row.instance = Text(name_ + "." + std::to_string(instance_));
    row.address = Text("http://" + host());
    if (has_health_) row.health_url = Text("http://" + host() + "/health");
    Note("registers");
    Ask([row](PushLink& link, Done<void> done) { link.Register(row, std::move(done)); },
        [this, process = process_](const Result<void>& result) {
            if (result || !process->alive) return;
            cluster_.world.After(cluster_.world.Between(100ms, 800ms), process,
                                 [this] { Register(); });
        });
}

void SimExecutor::Beat() {
    cluster_.world.After(kHeartbeat, process_, [this] {
        // An assignment of that moment is given back, and costs nothing.
        if (says_more > 0 && cluster_.world.Below(kHeartbeatsToRegister) == 0) {
            Register();
        } else if (sick) {
            checker_.OnDoubted(name_);
        } else if (!has_health_) {
            Ask([id = WorkerId(Text(name_))](
                    PushLink& link, Done<void> done) { link.Beat(id, {}, std::move(done)); },
                [](const Result<void>&) {});
        }
        Beat();
    });
}

void SimExecutor::SetStatus(WorkerStatus status, bool insist) {
    cluster_.world.Note("operator", Name(status), name_);
    cluster_.checker.choices.OnStatusAsked(name_, status);
    checker_.OnDoubted(name_);
    if (insist) ++pending_;
    const SetWorkerStatus set{
        .worker = WorkerId(Text(name_)), .status = status, .reason = Text("drill")};
    Ask([set](PushLink& link, Done<void> done) { link.SetStatus(set, std::move(done)); },
        [this, status, insist](const Result<void>& result) {
            if (!insist) return;
            if (result) return void(--pending_);
            cluster_.world.After(500ms, nullptr, [this, status] {
                --pending_;
                SetStatus(status, true);
            });
        });
}

void SimExecutor::Remove() {
    cluster_.world.Note("operator", "removes", name_);
    cluster_.checker.choices.OnStatusAsked(name_, WorkerStatus::kOffline);
    checker_.OnDoubted(name_);
    Ask([id = WorkerId(Text(name_))](
            PushLink& link, Done<void> done) { link.Remove(id, nullptr, std::move(done)); },
        [](const Result<void>&) {});
}

// --- Orders -------------------------------------------------------------------------------------

SimExecutor::Run* SimExecutor::Find(const std::string& token) {
    const auto found = runs_.find(token);
    return found == runs_.end() ? nullptr : &found->second;
}

void SimExecutor::Serve(const HttpCall& call, const SimWeb::Reply& reply) {
    if (call.url == "/health") return reply(AnswerOf(sick ? 503 : 200));
    if (call.url == "/execute") return TakeOrder(call, reply);
    reply(AnswerOf(200));  // A lock was lost, or somebody asks whether it lives.
}

void SimExecutor::TakeOrder(const HttpCall& call, const SimWeb::Reply& reply) {
    World& world = cluster_.world;
    const std::string token = HeaderOf(call, "X-Takt-Token");
    const auto order = *ParseJson(call.body, {.bytes_max = 1 << 20});
    Run* run = Find(token);
    if (!run && (sick || world.Chance(refuses))) {
        Note("refuses", order.at("execution_id").as_string());
        return reply(AnswerOf(world.Chance(0.5) ? 503 : 429));
    }
    const bool first = checker_.OnOrder(token, std::stoull(HeaderOf(call, kTermHeader)), process_);
    const bool known = run != nullptr;
    if (!known) {
        run = &runs_[token];
        run->ref = {ExecutionId(Text(std::string_view(order.at("execution_id").as_string()))),
                    std::uint32_t(order.at("attempt").as_int64()), *ParseToken(token)};
    }
    run->urls.clear();
    for (const auto& url : order.at("callback_urls").as_array()) {
        run->urls.emplace_back(std::string_view(url.as_string()));
    }
    run->tries_left = kTries;
    const std::string id = run->ref.execution.text().str();
    if (known) {
        Note("is ordered again", id, run->ref.attempt);
        if (!run->running && world.Chance(0.3)) return reply(AnswerOf(200, BodyOf(run->said)));
        if (!run->running) Tell(token);
        return reply(AnswerOf(202));
    }
    Note("runs", id, run->ref.attempt);
    // A process that forgot what the one before it had taken does it once more.
    if (first) cluster_.checker.OnStart(run->ref, name_, 1, capacity_);
    Begin(token, reply);
}

void SimExecutor::Begin(const std::string& token, const SimWeb::Reply& reply) {
    World& world = cluster_.world;
    Run& run = runs_[token];
    if (world.Chance(0.4)) {
        run.open = reply;
    } else {
        const Micros think = world.Chance(0.8) ? Micros(0) : world.Between(1ms, 1s);
        world.After(think, process_, [reply] { reply(AnswerOf(202)); });
    }
    if (world.Chance(cluster_.handler_hangs)) return;
    const bool success = !world.Chance(cluster_.handler_fails);
    world.After(world.Between(100us, cluster_.handler_max), process_,
                [this, token, success] { End(token, success); });
}

void SimExecutor::End(const std::string& token, bool success) {
    Run* run = Find(token);
    if (!run || !run->running) return;
    const std::string id = run->ref.execution.text().str();
    const std::string number = std::to_string(run->ref.attempt);
    Note(success ? "succeeds" : "fails", id, run->ref.attempt);
    run->running = false;
    run->said = {success, success ? "[\"" + id + "\"," + number + "]" : "no luck with " + id};
    checker_.OnSaid(token, run->said);
    cluster_.checker.OnEnd(run->ref, checker_.SaidSuccess(token));
    World& world = cluster_.world;
    if (run->open) {
        std::exchange(run->open, {})(AnswerOf(200, BodyOf(run->said)));
        // Some do both.
        if (!world.Chance(says_more)) return;
    }
    const Micros late = world.Chance(says_more) ? world.Between(0us, 15s) : Micros(0);
    if (world.Chance(says_more)) SayMore(token);
    world.After(late, process_, [this, token] { Tell(token); });
}

// --- Callbacks ----------------------------------------------------------------------------------

void SimExecutor::Tell(const std::string& token) {
    Run* run = Find(token);
    if (!run || run->running || std::exchange(run->telling, true)) return;
    Say(token, run->said, [this, token](int status) {
        Run* told = Find(token);
        if (!told) return;
        told->telling = false;
        OnTold(token, status);
    });
}

void SimExecutor::OnTold(const std::string& token, int status) {
    World& world = cluster_.world;
    Run& run = runs_[token];
    if (status != 0 && status < 500) {
        Note("is answered", run.ref.execution.view(), std::uint64_t(status));
        if (world.Chance(says_more)) {
            world.After(world.Between(0us, 4s), process_, [this, token] { SayMore(token); });
        }
        return;
    }
    if (--run.tries_left < 0) return;
    world.After(world.Between(50ms, 600ms), process_, [this, token] { Tell(token); });
}

// `done` is told the status, 0 if there was no answer.
void SimExecutor::Say(const std::string& token, const Said& said, std::function<void(int)> done) {
    const Run& run = runs_[token];
    HttpCall call{
        .method = HttpMethod::kPost,
        .url = run.urls[cluster_.world.Below(run.urls.size())],
        .headers = {{"X-Takt-Token", token}},
        .body = BodyOf(said),
        .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kSchedulerPatience)};
    cluster_.web->Send(process_, std::move(call), [done](const Result<HttpAnswer>& answer) {
        done(answer ? answer->status : 0);
    });
}

// The same once more, or something else: of two that contradict each other one is refused.
void SimExecutor::SayMore(const std::string& token) {
    World& world = cluster_.world;
    const Run* run = Find(token);
    if (!run) return;
    Said said = run->said;
    if (world.Chance(0.5)) {
        const std::string id = run->ref.execution.text().str();
        said.success = world.Chance(0.5);
        said.text = said.success ? "[\"" + id + "\",\"otherwise\"]" : "otherwise";
        Note("contradicts itself", id, run->ref.attempt);
        checker_.OnSaid(token, said);
        cluster_.checker.OnEnd(run->ref, checker_.SaidSuccess(token));
    }
    Say(token, said, [](int) {});
}

}  // namespace takt::internal::sim
