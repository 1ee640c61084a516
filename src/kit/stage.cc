#include "kit/stage.h"

#include <algorithm>

#include "base/random.h"

namespace takt::internal::kit {
namespace {

std::string NewToken() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    static Random random(NewRandomSeed());
    std::string token;
    for (int i = 0; i < 32; ++i) token += kDigits[random.Below(kDigits.size())];
    return token;
}

std::string Seconds(Duration time) {
    return FormatDuration(time);
}

}  // namespace

bool Stage::AwaitHello(Duration patience) {
    const auto said = scheduler.Await(
        [](const PlayedScheduler::Said& one) { return one.frame.has_hello(); }, patience);
    if (said) hello = said->frame.hello();
    return Expect(said.has_value(), "no Hello came within " + Seconds(patience));
}

void Stage::Welcome(const WelcomeTerms& terms) {
    SchedulerFrame frame;
    worker::v1::Welcome& welcome = *frame.mutable_welcome();
    welcome.set_protocol(1);
    welcome.set_session(1);
    welcome.set_epoch(terms.epoch == 0 ? epoch : terms.epoch);
    welcome.set_node_id("protocol-test");
    welcome.set_heartbeat_ms(static_cast<std::uint32_t>(terms.heartbeat.count()));
    welcome.set_lease_ms(static_cast<std::uint32_t>(terms.lease.count()));
    welcome.set_namespace_("default");
    welcome.set_namespace_id(terms.namespace_id);
    welcome.set_term_id(terms.term_id);
    scheduler.Send(frame);
}

bool Stage::Attach(const WelcomeTerms& terms) {
    if (!AwaitHello()) return false;
    Welcome(terms);
    return true;
}

bool Stage::Serves(const std::string& type) const {
    return hello.types().empty() || std::ranges::find(hello.types(), type) != hello.types().end();
}

SchedulerFrame Stage::MakeAssign(const std::string& type, const std::string& payload,
                                 Duration timeout) {
    SchedulerFrame frame;
    worker::v1::Assign& assign = *frame.add_assigns();
    const std::string id = "kit-" + std::to_string(epoch) + "-" + std::to_string(++next_);
    assign.mutable_attempt()->set_execution_id(id);
    assign.mutable_attempt()->set_attempt(1);
    assign.mutable_attempt()->set_token(NewToken());
    assign.set_epoch(epoch);
    assign.set_task_id(id);
    assign.set_task_name(type);
    assign.set_type(type);
    assign.set_queue("default");
    assign.set_priority(5);
    assign.set_payload(payload);
    assign.set_timeout_ms(static_cast<std::uint64_t>(timeout.count()));
    return frame;
}

Attempt Stage::Give(const std::string& type, const std::string& payload, Duration timeout) {
    const SchedulerFrame frame = MakeAssign(type, payload, timeout);
    scheduler.Send(frame);
    return frame.assigns(0).attempt();
}

std::string Stage::SleepFor(Duration time) const {
    return "{\"ms\": " + std::to_string(time.count()) + "}";
}

std::optional<worker::v1::Result> Stage::AwaitResult(const Attempt& attempt, Duration patience) {
    std::optional<worker::v1::Result> found;
    scheduler.Await(
        [&](const PlayedScheduler::Said& said) {
            for (const auto& result : said.frame.results()) {
                if (KeyOf(result.attempt()) == KeyOf(attempt)) found = result;
            }
            return found.has_value();
        },
        patience);
    Expect(found.has_value(),
           "no result of " + attempt.execution_id() + " came within " + Seconds(patience));
    return found;
}

bool Stage::AwaitStarted(const Attempt& attempt) {
    const auto said = scheduler.Await(
        [&](const PlayedScheduler::Said& one) {
            return std::ranges::any_of(one.frame.started(), [&](const auto& started) {
                return KeyOf(started.attempt()) == KeyOf(attempt);
            });
        },
        kPatience);
    return Expect(said.has_value(), "no Started of " + attempt.execution_id() + " came");
}

void Stage::Acknowledge(const Attempt& attempt, bool accepted) {
    SchedulerFrame frame;
    *frame.add_acks()->mutable_attempt() = attempt;
    frame.mutable_acks(0)->set_accepted(accepted);
    scheduler.Send(frame);
}

void Stage::Cancel(const Attempt& attempt, const std::string& reason) {
    SchedulerFrame frame;
    *frame.add_cancels()->mutable_attempt() = attempt;
    frame.mutable_cancels(0)->set_reason(reason);
    scheduler.Send(frame);
}

bool Stage::Holds(const Attempt& attempt) const {
    return std::ranges::any_of(hello.holding(),
                               [&](const Attempt& held) { return KeyOf(held) == KeyOf(attempt); });
}

bool Stage::Expect(bool holds, const std::string& otherwise) {
    if (!holds && broken_.empty()) broken_ = otherwise;
    return holds;
}

void Stage::Skip(const std::string& why) {
    skipped_ = why;
}

}  // namespace takt::internal::kit
