// A collector of traces: takes what is sent to /v1/traces and lets tests wait for it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/server.h"
#include "tests/support/stack.h"

namespace takt::internal::testing_support {

struct CollectedSpan {
    std::string trace;
    std::string id;
    std::string parent;
    std::string name;
    std::string service;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool failed = false;
    std::map<std::string, std::string> attributes;
};

class Collector {
  public:
    Collector() {
        io_.Run([&] {
            server_ =
                std::move(*HttpServer::Listen(io_.loop, {}, std::make_shared<Handler>(*this)));
        });
    }
    ~Collector() {
        server_.reset();
        io_.Join();
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
    void AnswerWith(int status) {
        const std::scoped_lock lock(mutex_);
        status_ = status;
    }

    // The first span of that name, of any service unless one is named.
    std::optional<CollectedSpan> Await(const std::string& name, const std::string& service = "") {
        std::unique_lock lock(mutex_);
        std::optional<CollectedSpan> found;
        changed_.wait_for(lock, kPatience, [&] {
            for (const CollectedSpan& span : spans_) {
                if (span.name == name && (service.empty() || span.service == service)) found = span;
                if (found) return true;
            }
            return false;
        });
        EXPECT_TRUE(found) << "no span " << name << " came";
        return found;
    }
    std::size_t spans() {
        const std::scoped_lock lock(mutex_);
        return spans_.size();
    }

  private:
    struct Handler final : HttpHandler {
        explicit Handler(Collector& to) : collector(to) {}
        void Handle(HttpRequest request, HttpReply reply) override {
            reply(HttpResponse::Json(collector.Take(request), "{}"));
        }
        Collector& collector;
    };

    int Take(const HttpRequest& request) {
        EXPECT_EQ(request.path, "/v1/traces");
        const std::scoped_lock lock(mutex_);
        ++calls_;
        if (status_ == 200) Read(boost::json::parse(request.body));
        changed_.notify_all();
        return status_;
    }
    static std::map<std::string, std::string> Attributes(const boost::json::value& list) {
        std::map<std::string, std::string> attributes;
        for (const auto& attribute : list.as_array()) {
            attributes[std::string(attribute.at("key").as_string())] =
                attribute.at("value").at("stringValue").as_string();
        }
        return attributes;
    }
    void Read(const boost::json::value& body) {
        for (const auto& resource : body.at("resourceSpans").as_array()) {
            auto of = Attributes(resource.at("resource").at("attributes"));
            for (const auto& scope : resource.at("scopeSpans").as_array()) {
                for (const auto& span : scope.at("spans").as_array()) {
                    Read(span.as_object(), of["service.name"]);
                }
            }
        }
    }
    void Read(const boost::json::object& span, const std::string& service) {
        const auto text = [&](const char* key) {
            const auto* value = span.if_contains(key);
            return value ? std::string(value->as_string()) : std::string();
        };
        spans_.push_back({.trace = text("traceId"),
                          .id = text("spanId"),
                          .parent = text("parentSpanId"),
                          .name = text("name"),
                          .service = service,
                          .start_ns = std::stoll(text("startTimeUnixNano")),
                          .end_ns = std::stoll(text("endTimeUnixNano")),
                          .failed = span.if_contains("status") != nullptr,
                          .attributes = Attributes(span.at("attributes"))});
    }

    LoopThread io_;
    std::unique_ptr<HttpServer> server_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<CollectedSpan> spans_;
    int calls_ = 0;
    int status_ = 200;
};

}  // namespace takt::internal::testing_support
