// BulkReader: reads many tasks from a body as it arrives.
//
// What is kept is the tasks and the text of the one that is still arriving, never the body. Nothing
// of it is submitted here: a body that breaks off creates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/services.h"

namespace takt::internal {

// The memory that all bodies that are being read take together. On the server's thread.
struct BulkHeld {
    std::size_t bytes = 0;
};

class BulkReader {
  public:
    struct Item {
        NewTaskPtr task;  // Null if there is a problem.
        std::optional<bool> enabled;
        std::unique_ptr<Problem> problem;
    };

    // [{…}, …] and {"tasks": […]}, or one task in each line, as the request's Content-Type says.
    BulkReader(Services& services, const HttpRequest& request, std::shared_ptr<BulkHeld> held);
    ~BulkReader();
    BulkReader(const BulkReader&) = delete;
    BulkReader& operator=(const BulkReader&) = delete;

    // The next piece of the body. False: nothing more needs to be read, Finish tells why.
    bool Feed(std::string_view piece);

    // The body is whole. kInvalid or kExhausted if it cannot be taken; a single task that cannot be
    // is a problem of its item.
    Result<std::vector<Item>> Finish();

  private:
    enum class State : std::uint8_t {
        kStart,
        kKey,    // Inside {, before the name.
        kName,   // Inside the name.
        kColon,  // After it.
        kList,   // Before [.
        kFirst,  // After [: a task, or the end.
        kItem,   // Inside a task, or before one.
        kAfter,  // After ].
        kDone,
    };

    void FeedLines(std::string_view piece);
    void FeedJson(std::string_view piece);
    void Step(char c);
    std::size_t PassItem(std::string_view piece);
    void TakeItem(std::string_view text);
    void TakeLine(std::string_view line);
    bool Room();
    void Read(std::string_view text);
    void Stop(Error error);

    Services& services_;
    const std::shared_ptr<BulkHeld> held_;
    const bool lines_;
    const Time now_;
    const std::string traceparent_;
    const std::string tracestate_;
    const std::optional<std::string> key_;  // Idempotency-Key
    std::size_t bytes_ = 0;
    State state_ = State::kStart;
    bool wrapped_ = false;  // In {"tasks": …}.
    bool listed_ = false;   // The list of tasks is over, and another member begins.
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    std::string text_;  // Of what has not arrived whole.
    std::vector<Item> items_;
    std::optional<Error> error_;
};

}  // namespace takt::internal
