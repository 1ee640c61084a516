// PlayedScheduler: a scheduler that a rule plays, frame by frame, against a worker of anybody's.
//
// Listens on two ports of one address, as two schedulers would. Answers heartbeats by itself, unless
// it is told to be silent; says nothing else on its own. Methods block and may be called from one
// thread.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "http/server.h"
#include "http/websocket.h"
#include "wire/frame_codec.h"
#include "worker.pb.h"

namespace takt::internal::kit {

using worker::v1::Attempt;
using worker::v1::SchedulerFrame;
using worker::v1::WorkerFrame;

// All three parts: what tells one attempt from another.
std::string KeyOf(const Attempt& attempt);

class PlayedScheduler {
  public:
    struct Said {
        std::uint64_t session = 0;  // From 1, as they were opened.
        bool second = false;        // At the second address.
        WorkerFrame frame;
        Steady at{};
    };
    // Rules that every frame can break, found while it is read; empty if none has.
    struct Faults {
        std::string form;     // A message that is no frame.
        std::string size;     // A frame beyond 4 MiB.
        std::string hello;    // A session that did not begin with a Hello alone.
        std::string attempt;  // An attempt named that was never given, or not as it was given.
        std::string late;     // Logs or progress behind a result.
    };

    // kInvalid, kUnavailable as HttpServer::Listen. Port 0 is any.
    static Result<std::unique_ptr<PlayedScheduler>> Listen(const std::string& host,
                                                           std::uint16_t port);
    ~PlayedScheduler();
    PlayedScheduler(const PlayedScheduler&) = delete;
    PlayedScheduler& operator=(const PlayedScheduler&) = delete;

    const std::string& url() const { return urls_[0]; }
    const std::string& second_url() const { return urls_[1]; }

    using Wanted = std::function<bool(const Said&)>;
    // The next frame that is wanted; those before it are dropped. Nothing after so long.
    std::optional<Said> Await(const Wanted& wanted, Duration patience);
    // All frames that come while so much time passes.
    std::vector<Said> Collect(Duration time);
    // False if the latest session has not been closed by the worker after so long.
    bool AwaitClosed(Duration patience);

    // To the latest session. `unknown_field` is a field of a later version.
    void Send(const SchedulerFrame& frame, const std::string& unknown_field = {});
    // Ends the latest session, as a network does.
    void Cut();

    void SetSilent(bool silent);
    // Workers that come from now on are not let in.
    void SetAway(bool away);
    // Connections tried so far, those that were not let in included.
    std::uint64_t tries();
    // Frames said so far on the latest session are forgotten, and faults too.
    void Forget();
    Faults faults();

  private:
    class Door;
    struct Session {
        std::uint64_t number = 0;
        bool second = false;
        std::shared_ptr<WebSocketSession> socket;
        FrameForm form = FrameForm::kBinary;
        bool spoke = false;
        bool closed = false;
    };

    PlayedScheduler() : work_(loop_.get_executor()) {}
    void OnRequest(bool second, HttpReply reply);
    void OnMessage(const std::shared_ptr<Session>& session, WebSocketMessage message);
    void FindFaults(const WorkerFrame& frame, const Session& session);

    boost::asio::io_context loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::unique_ptr<HttpServer> servers_[2];
    std::string urls_[2];
    std::thread thread_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::shared_ptr<Session>> sessions_;
    std::deque<Said> said_;
    std::set<std::string> given_;  // Keys of all attempts that were assigned,
    std::set<std::string> ended_;  // and of those whose results came.
    Faults faults_;
    bool silent_ = false;
    bool away_ = false;
    std::uint64_t tries_ = 0;
};

}  // namespace takt::internal::kit
