// An answer without an end, as a client sees it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "http/client.h"
#include "http/test_support.h"

namespace takt::internal {

class TestStream {
  public:
    explicit TestStream(std::string url, HttpHeaderList headers = {}) {
        auto client = HttpClient::Create(loop_.io(), {});
        EXPECT_TRUE(client);
        client_ = std::move(*client);
        client_->Send(
            {.url = std::move(url), .headers = std::move(headers), .sink = seen_},
            [seen = seen_](Result<HttpAnswer>) { seen->Change([](Seen& s) { s.ended = true; }); });
    }
    ~TestStream() {
        client_->Close();
        loop_.Join();
    }

    void AwaitHead() {
        EXPECT_TRUE(seen_->Await([](const Seen& s) { return s.status != 0; })) << "no answer came";
    }
    bool Await(std::string_view text) {
        return seen_->Await([&](const Seen& s) { return s.text.find(text) != s.text.npos; });
    }
    bool AwaitEnd() {
        return seen_->Await([](const Seen& s) { return s.ended; });
    }
    int status() { return seen_->Get().status; }
    std::string text() { return seen_->Get().text; }

  private:
    struct Seen {
        int status = 0;
        std::string text;
        bool ended = false;
    };
    class Sink final : public HttpAnswerSink {
      public:
        bool OnHead(const HttpAnswer& head) override {
            Change([&](Seen& s) { s.status = head.status; });
            return true;
        }
        bool OnPiece(std::string_view piece) override {
            Change([&](Seen& s) { s.text += piece; });
            return true;
        }
        void Change(const std::function<void(Seen&)>& change) {
            const std::scoped_lock lock(mutex_);
            change(seen_);
            changed_.notify_all();
        }
        bool Await(const std::function<bool(const Seen&)>& condition) {
            std::unique_lock lock(mutex_);
            return changed_.wait_for(lock, std::chrono::seconds(10),
                                     [&] { return condition(seen_); });
        }
        Seen Get() {
            const std::scoped_lock lock(mutex_);
            return seen_;
        }

      private:
        std::mutex mutex_;
        std::condition_variable changed_;
        Seen seen_;
    };

    std::shared_ptr<Sink> seen_ = std::make_shared<Sink>();
    LoopThread loop_;
    std::unique_ptr<HttpClient> client_;
};

}  // namespace takt::internal
