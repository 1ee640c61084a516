#include "kit/callback_door.h"

#include <utility>

namespace takt::internal::kit {

// Answers as the door says, and outlives nothing: the server goes before the door does.
class CallbackDoor::Handler : public HttpHandler {
  public:
    explicit Handler(CallbackDoor& door) : door_(door) {}
    void Handle(HttpRequest request, HttpReply reply) override {
        int status = 0;
        {
            const std::scoped_lock lock(door_.mutex_);
            status = door_.status_;
            const std::string token(request.headers.Find("X-Takt-Token").value_or(""));
            door_.callbacks_.push_back({request.path, token, std::move(request.body)});
        }
        door_.changed_.notify_all();
        HttpResponse response = HttpResponse::Text(
            status, status == 200 ? R"({"accepted": true, "status": "success"})" : "{}");
        reply(std::move(response));
    }

  private:
    CallbackDoor& door_;
};

Result<std::unique_ptr<CallbackDoor>> CallbackDoor::Listen(const std::string& host) {
    std::unique_ptr<CallbackDoor> door(new CallbackDoor());
    HttpServerOptions options;
    options.host = host;
    auto server = HttpServer::Listen(door->loop_, options, std::make_shared<Handler>(*door));
    if (!server) return std::unexpected(server.error());
    door->server_ = std::move(*server);
    door->url_ = "http://" + host + ":" + std::to_string(door->server_->port());
    door->thread_ = std::thread([loop = &door->loop_] { loop->run(); });
    return door;
}

CallbackDoor::~CallbackDoor() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
    server_.reset();
}

std::optional<Callback> CallbackDoor::Await(const std::string& path, Duration patience) {
    std::unique_lock lock(mutex_);
    std::optional<Callback> found;
    changed_.wait_for(lock, patience, [&] {
        while (!callbacks_.empty() && !found) {
            Callback callback = std::move(callbacks_.front());
            callbacks_.pop_front();
            if (callback.path == path) found = std::move(callback);
        }
        return found.has_value();
    });
    return found;
}

void CallbackDoor::SetStatus(int status) {
    const std::scoped_lock lock(mutex_);
    status_ = status;
}

}  // namespace takt::internal::kit
