#include "sim/web.h"

#include <algorithm>
#include <utility>

namespace takt::internal::sim {
namespace {

// A client waits so long for a connection.
constexpr Micros kConnectTimeout = 1s;

std::pair<std::string, std::string> HostAndPath(const std::string& url) {
    const std::size_t host = url.find("://") + 3;
    const std::size_t path = std::min(url.find('/', host), url.size());
    return {url.substr(host, path - host), url.substr(path)};
}

}  // namespace

std::string HeaderOf(const HttpCall& call, std::string_view name) {
    const auto found = std::ranges::find(
        call.headers, name, [](const auto& header) { return std::string_view(header.first); });
    return found == call.headers.end() ? std::string() : found->second;
}

void SimWeb::Send(const ProcessPtr& caller, HttpCall call, HttpDone done) {
    auto open = std::make_shared<Open>(caller, nullptr, std::move(done));
    const Micros timeout = call.timeout;
    world_.After(Way(), nullptr,
                 [this, open, call = std::move(call)]() mutable { Arrive(open, std::move(call)); });
    world_.After(timeout, caller, [open] {
        if (!open->done) return;
        std::exchange(open->done, {})(Fail(ErrorCode::kUnknown, "no answer in time", "timeout"));
    });
}

void SimWeb::Arrive(const OpenPtr& open, HttpCall call) {
    const auto [host, path] = HostAndPath(call.url);
    const auto site = sites_.find(host);
    open->server = site == sites_.end() ? nullptr : site->second.process();
    if (silent.contains(host)) {
        return world_.After(kConnectTimeout, nullptr, [this, open] {
            Answer(open, Fail(ErrorCode::kUnavailable, "connection timed out"));
        });
    }
    if (!open->server || !open->server->alive || refused.contains(host)) {
        return Answer(open, Fail(ErrorCode::kUnavailable, "connection refused"));
    }
    if (world_.Chance(lost)) return Lose(open);
    std::erase_if(open_, [](const auto& weak) { return weak.expired(); });
    open_.push_back(open);
    call.url = path;
    world_.After(Micros(0), open->server,
                 [this, open, &serve = site->second.serve, call = std::move(call)] {
                     serve(call, [this, open](HttpAnswer answer) {
                         if (world_.Chance(lost)) return Lose(open);
                         Answer(open, std::move(answer));
                     });
                 });
}

void SimWeb::Answer(const OpenPtr& open, Result<HttpAnswer> answer) {
    world_.After(Way(), open->caller, [open, answer = std::move(answer)]() mutable {
        if (open->done) std::exchange(open->done, {})(std::move(answer));
    });
}

void SimWeb::Lose(const OpenPtr& open) {
    if (world_.Chance(0.5)) Answer(open, Fail(ErrorCode::kUnknown, "connection reset"));
}

void SimWeb::Reset(const ProcessPtr& process) {
    for (const auto& weak : open_) {
        const OpenPtr open = weak.lock();
        if (open && open->server == process && open->done && world_.Chance(0.7)) {
            Answer(open, Fail(ErrorCode::kUnknown, "connection reset"));
        }
    }
}

}  // namespace takt::internal::sim
