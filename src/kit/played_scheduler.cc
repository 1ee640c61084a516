#include "kit/played_scheduler.h"

#include <utility>

namespace takt::internal::kit {
namespace {

constexpr std::size_t kFrameBytesMax = 4 << 20;
constexpr std::size_t kHelloBytesMax = 8 << 20;
constexpr int kUnavailableStatus = 503;

}  // namespace

std::string KeyOf(const Attempt& attempt) {
    return attempt.execution_id() + '/' + std::to_string(attempt.attempt()) + '/' + attempt.token();
}

// Hands requests on, and outlives nothing: the servers go before the scheduler does.
class PlayedScheduler::Door : public HttpHandler {
  public:
    Door(PlayedScheduler& scheduler, bool second) : scheduler_(scheduler), second_(second) {}
    void Handle(HttpRequest request, HttpReply reply) override {
        if (!request.path.ends_with("/workers/attach")) {
            return reply(HttpResponse::Text(404, "only workers are served here"));
        }
        scheduler_.OnRequest(second_, std::move(reply));
    }

  private:
    PlayedScheduler& scheduler_;
    const bool second_;
};

Result<std::unique_ptr<PlayedScheduler>> PlayedScheduler::Listen(const std::string& host,
                                                                 std::uint16_t port) {
    std::unique_ptr<PlayedScheduler> scheduler(new PlayedScheduler());
    for (const bool second : {false, true}) {
        HttpServerOptions options;
        options.host = host;
        options.port = second ? std::uint16_t(0) : port;
        auto server = HttpServer::Listen(scheduler->loop_, options,
                                         std::make_shared<Door>(*scheduler, second));
        if (!server) return std::unexpected(server.error());
        scheduler->urls_[second] = "http://" + host + ":" + std::to_string((*server)->port());
        scheduler->servers_[second] = std::move(*server);
    }
    scheduler->thread_ = std::thread([loop = &scheduler->loop_] { loop->run(); });
    return scheduler;
}

PlayedScheduler::~PlayedScheduler() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    // Callbacks of a socket hold its session: one that was not closed would keep both for ever.
    for (const auto& session : sessions_) session->socket.reset();
    sessions_.clear();
    for (auto& server : servers_) server.reset();
}

void PlayedScheduler::OnRequest(bool second, HttpReply reply) {
    {
        const std::scoped_lock lock(mutex_);
        ++tries_;
        changed_.notify_all();
        if (away_) return reply(HttpResponse::Text(kUnavailableStatus, "away"));
    }
    auto session = std::make_shared<Session>();
    session->second = second;
    auto callbacks = std::make_shared<WebSocketCallbacks>();
    callbacks->options.message_bytes_max = kHelloBytesMax + kFrameBytesMax;
    callbacks->options.queue_bytes_max = std::size_t(64) << 20;
    callbacks->on_open = [this, session](std::shared_ptr<WebSocketSession> socket) {
        const std::scoped_lock lock(mutex_);
        session->socket = std::move(socket);
        sessions_.push_back(session);
        session->number = sessions_.size();
    };
    callbacks->on_message = [this, session](WebSocketMessage message) {
        OnMessage(session, message);
    };
    callbacks->on_close = [this, session](const WebSocketClosed&) {
        const std::scoped_lock lock(mutex_);
        session->closed = true;
        changed_.notify_all();
    };
    HttpResponse response;
    response.websocket = std::move(callbacks);
    reply(std::move(response));
}

void PlayedScheduler::OnMessage(const std::shared_ptr<Session>& session, WebSocketMessage message) {
    const std::scoped_lock lock(mutex_);
    Said said{.session = session->number, .second = session->second, .at = SteadyClock::now()};
    const FrameForm form = message.text ? FrameForm::kJson : FrameForm::kBinary;
    if (auto read = ReadFrame(form, message.bytes, said.frame); !read) {
        if (faults_.form.empty()) faults_.form = read.error().detail;
        return session->socket->Close(WebSocketCode::kPolicy, "malformed");
    }
    const std::size_t most = said.frame.has_hello() ? kHelloBytesMax : kFrameBytesMax;
    if (message.bytes.size() > most && faults_.size.empty()) {
        faults_.size = "a frame of " + std::to_string(message.bytes.size()) + " bytes came";
    }
    session->form = form;
    FindFaults(said.frame, *session);
    session->spoke = true;
    if (said.frame.has_heartbeat() && !silent_) {
        SchedulerFrame beat;
        beat.mutable_beat()->set_sent_at_ms(said.frame.heartbeat().sent_at_ms());
        std::string bytes;
        WriteFrame(form, beat, bytes);
        message.text ? session->socket->SendText(bytes) : session->socket->SendBinary(bytes);
    }
    said_.push_back(std::move(said));
    changed_.notify_all();
}

void PlayedScheduler::FindFaults(const WorkerFrame& frame, const Session& session) {
    const bool alone = frame.started().empty() && frame.progress().empty() &&
                       frame.results().empty() && frame.logs().empty() && !frame.has_heartbeat() &&
                       !frame.has_bye() && frame.lock_asks().empty();
    if (!session.spoke && !(frame.has_hello() && alone)) {
        faults_.hello = "the first frame of a session is no Hello, or not a Hello alone";
    }
    if (session.spoke && frame.has_hello()) faults_.hello = "a second Hello came in one session";
    const auto check = [this](const Attempt& attempt) {
        if (given_.contains(KeyOf(attempt)) || !faults_.attempt.empty()) return;
        faults_.attempt = "the attempt " + KeyOf(attempt) + " was named, which was never given";
    };
    const auto check_late = [&](const Attempt& attempt) {
        check(attempt);
        if (ended_.contains(KeyOf(attempt)) && faults_.late.empty()) {
            faults_.late = "logs or progress of " + KeyOf(attempt) + " came behind its result";
        }
    };
    for (const auto& started : frame.started()) check(started.attempt());
    for (const auto& progress : frame.progress()) check_late(progress.attempt());
    for (const auto& log : frame.logs()) check_late(log.attempt());
    for (const auto& ask : frame.lock_asks()) check(ask.attempt());
    for (const auto& result : frame.results()) {
        check(result.attempt());
        ended_.insert(KeyOf(result.attempt()));
    }
    for (const Attempt& attempt : frame.hello().holding()) check(attempt);
}

std::optional<PlayedScheduler::Said> PlayedScheduler::Await(const Wanted& wanted,
                                                            Duration patience) {
    std::unique_lock lock(mutex_);
    std::optional<Said> found;
    changed_.wait_for(lock, patience, [&] {
        while (!said_.empty() && !found) {
            Said said = std::move(said_.front());
            said_.pop_front();
            if (wanted(said)) found = std::move(said);
        }
        return found.has_value();
    });
    return found;
}

std::vector<PlayedScheduler::Said> PlayedScheduler::Collect(Duration time) {
    std::this_thread::sleep_for(time);
    const std::scoped_lock lock(mutex_);
    std::vector<Said> all(std::make_move_iterator(said_.begin()),
                          std::make_move_iterator(said_.end()));
    said_.clear();
    return all;
}

bool PlayedScheduler::AwaitClosed(Duration patience) {
    std::unique_lock lock(mutex_);
    if (sessions_.empty()) return false;
    const auto session = sessions_.back();
    return changed_.wait_for(lock, patience, [&] { return session->closed; });
}

void PlayedScheduler::Send(const SchedulerFrame& frame, const std::string& unknown_field) {
    const std::scoped_lock lock(mutex_);
    for (const auto& assign : frame.assigns()) given_.insert(KeyOf(assign.attempt()));
    if (sessions_.empty()) return;
    const Session& session = *sessions_.back();
    std::string bytes;
    WriteFrame(session.form, frame, bytes);
    if (!unknown_field.empty() && session.form == FrameForm::kJson) {
        bytes.insert(1, "\"" + unknown_field + "\": {\"later\": [1, 2]}, ");
    } else if (!unknown_field.empty()) {
        bytes += "\xf2\x06\x02hi";  // Field 110, two bytes.
    }
    session.form == FrameForm::kJson ? session.socket->SendText(bytes)
                                     : session.socket->SendBinary(bytes);
}

void PlayedScheduler::Cut() {
    const std::scoped_lock lock(mutex_);
    if (!sessions_.empty()) sessions_.back()->socket->Close(WebSocketCode::kGoingAway, "");
}

void PlayedScheduler::SetSilent(bool silent) {
    const std::scoped_lock lock(mutex_);
    silent_ = silent;
}

void PlayedScheduler::SetAway(bool away) {
    const std::scoped_lock lock(mutex_);
    away_ = away;
}

std::uint64_t PlayedScheduler::tries() {
    const std::scoped_lock lock(mutex_);
    return tries_;
}

void PlayedScheduler::Forget() {
    const std::scoped_lock lock(mutex_);
    said_.clear();
    faults_ = {};
}

PlayedScheduler::Faults PlayedScheduler::faults() {
    const std::scoped_lock lock(mutex_);
    return faults_;
}

}  // namespace takt::internal::kit
