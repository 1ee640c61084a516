// CallbackDoor: where an executor that is tested reports to.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/time.h"
#include "http/server.h"

namespace takt::internal::kit {

struct Callback {
    std::string path;
    std::string token;  // Of the header.
    std::string body;
};

// Methods from one thread.
class CallbackDoor {
  public:
    static Result<std::unique_ptr<CallbackDoor>> Listen(const std::string& host);
    ~CallbackDoor();
    CallbackDoor(const CallbackDoor&) = delete;
    CallbackDoor& operator=(const CallbackDoor&) = delete;

    const std::string& url() const { return url_; }
    // The next callback at this path, answered with the status that was set before it came.
    std::optional<Callback> Await(const std::string& path, Duration patience);
    // 200 unless set.
    void SetStatus(int status);

  private:
    class Handler;
    CallbackDoor() : work_(loop_.get_executor()) {}

    boost::asio::io_context loop_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::unique_ptr<HttpServer> server_;
    std::string url_;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Callback> callbacks_;
    int status_ = 200;
};

}  // namespace takt::internal::kit
