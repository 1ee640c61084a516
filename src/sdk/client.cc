#include "takt/client.h"

#include <thread>

#include "remote/remote.h"
#include "sdk/calls.h"
#include "takt/version.h"

namespace takt {
namespace {

constexpr Duration kRetryPause{200};

class RemoteCalls final : public Calls {
  public:
    explicit RemoteCalls(ClientOptions options)
        : options_(std::move(options)),
          remote_(internal::Remote::Open({.servers = options_.servers,
                                          .space = options_.name_space,
                                          .token = options_.token,
                                          .ca_file = options_.ca_file,
                                          .user_agent = std::string("takt-cpp/") + kVersion,
                                          .timeout = options_.timeout,
                                          .token_advice = ": ClientOptions::token gives one"})) {}

    internal::Result<std::string> Call(internal::HttpMethod method, const std::string& path,
                                       const std::string& body) override {
        if (!remote_) return std::unexpected(remote_.error());
        const auto end = std::chrono::steady_clock::now() + options_.patience;
        while (true) {
            auto answer = remote_->Call(method, path, body);
            if (answer) return std::move(answer->body);
            const bool again = answer.error().code == internal::ErrorCode::kUnavailable &&
                               std::chrono::steady_clock::now() + kRetryPause < end;
            if (!again) return std::unexpected(answer.error());
            Pause(kRetryPause);
        }
    }

    std::shared_ptr<Calls> MakeAnother() override {
        return std::make_shared<RemoteCalls>(options_);
    }

    bool Pause(Duration duration) override {
        std::this_thread::sleep_for(duration);
        return true;
    }

  private:
    const ClientOptions options_;
    internal::Result<internal::Remote> remote_;
};

}  // namespace

Client::Client(ClientOptions options)
    : SchedulerApi(std::make_shared<RemoteCalls>(std::move(options))) {}
Client::~Client() = default;

}  // namespace takt
