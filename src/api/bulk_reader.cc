#include "api/bulk_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/json_read.h"
#include "api/submission.h"

namespace takt::internal {
namespace {

// As the server's bound on bodies that it keeps itself.
constexpr std::size_t kHeldBytesMax = 256 << 20;
constexpr std::size_t kMemberNameBytesMax = 64;
constexpr std::array<std::string_view, 1> kNames = {"tasks"};

bool IsBlank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

bool IsLines(const HttpRequest& request) {
    const std::string_view type = request.headers.Find("Content-Type").value_or("");
    return type.find("ndjson") != type.npos || type.find("jsonl") != type.npos;
}

Error NotAList() {
    return {ErrorCode::kInvalid,
            "send a list of tasks: [{…}, …], {\"tasks\": […]} or one task in each line", "tasks"};
}

}  // namespace

BulkReader::BulkReader(Services& services, const HttpRequest& request,
                       std::shared_ptr<BulkHeld> held)
    : services_(services),
      held_(std::move(held)),
      lines_(IsLines(request)),
      now_(ReadClocks().wall),
      traceparent_(request.headers.Find("traceparent").value_or("")),
      tracestate_(request.headers.Find("tracestate").value_or("")),
      key_(KeyOf(request)) {}

BulkReader::~BulkReader() {
    held_->bytes -= bytes_;
}

void BulkReader::Stop(Error error) {
    if (!error_) error_ = std::move(error);
}

bool BulkReader::Feed(std::string_view piece) {
    if (error_) return false;
    bytes_ += piece.size();
    held_->bytes += piece.size();
    if (held_->bytes > kHeldBytesMax) {
        Stop({ErrorCode::kUnavailable, "too many request bodies at once; try again shortly", ""});
    } else if (lines_) {
        FeedLines(piece);
    } else {
        FeedJson(piece);
    }
    return !error_;
}

Result<std::vector<BulkReader::Item>> BulkReader::Finish() {
    if (!error_ && lines_) {
        TakeLine(text_);
    } else if (!error_ && state_ == State::kStart) {
        Stop({ErrorCode::kInvalid, "there is no task in the body", "tasks"});
    } else if (!error_ && state_ != State::kDone) {
        Stop({ErrorCode::kInvalid, "the list of tasks ends before its end", "tasks"});
    }
    if (!error_ && items_.empty()) {
        Stop({ErrorCode::kInvalid, "there is no task in the body", "tasks"});
    }
    if (error_) return std::unexpected(*error_);
    return std::move(items_);
}

// --- Lines --------------------------------------------------------------------------------------

void BulkReader::FeedLines(std::string_view piece) {
    for (std::size_t end = 0; !error_ && (end = piece.find('\n')) != piece.npos;) {
        text_.append(piece.substr(0, end));
        TakeLine(text_);
        text_.clear();
        piece.remove_prefix(end + 1);
    }
    text_.append(piece);
}

void BulkReader::TakeLine(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || !Room()) return;
    if (const auto checked = CheckJson(line, {.bytes_max = line.size()})) {
        Read(line);
    } else {
        items_.emplace_back().problem =
            std::make_unique<Problem>(ProblemOfRequest(checked.error()));
    }
}

// --- JSON ---------------------------------------------------------------------------------------

void BulkReader::FeedJson(std::string_view piece) {
    while (!piece.empty() && !error_) {
        if (state_ != State::kItem) {
            Step(piece.front());
            if (state_ != State::kItem) piece.remove_prefix(1);  // Else a task begins with it.
            continue;
        }
        const std::size_t size = PassItem(piece);
        const bool ended = size < piece.size();
        if (!ended || !text_.empty()) text_.append(piece, 0, size);
        if (!ended) return;
        // Most tasks come in one piece.
        TakeItem(text_.empty() ? piece.substr(0, size) : text_);
        text_.clear();
        if (piece[size] == ']') state_ = wrapped_ ? State::kAfter : State::kDone;
        piece.remove_prefix(size + 1);
    }
}

void BulkReader::Step(char c) {
    if (state_ != State::kName && IsBlank(c)) return;
    const auto expect = [&](char wanted, State next) {
        if (c != wanted) return Stop(NotAList());
        state_ = next;
    };
    switch (state_) {
        case State::kStart:
            wrapped_ = c == '{';
            if (wrapped_) {
                state_ = State::kKey;
                return;
            }
            return expect('[', State::kFirst);
        case State::kKey:
            return expect('"', State::kName);
        case State::kName:
            if (c != '"') {
                text_ += c;
                if (text_.size() > kMemberNameBytesMax) Stop(UnknownField(text_, kNames).error());
                return;
            }
            if (text_ != kNames[0]) return Stop(UnknownField(text_, kNames).error());
            if (listed_) {
                return Stop({ErrorCode::kInvalid, "tasks is there twice: give it once", "tasks"});
            }
            text_.clear();
            state_ = State::kColon;
            return;
        case State::kColon:
            return expect(':', State::kList);
        case State::kList:
            return expect('[', State::kFirst);
        case State::kFirst:
            if (c == ']') {
                state_ = wrapped_ ? State::kAfter : State::kDone;
                return;
            }
            state_ = State::kItem;
            return;
        case State::kAfter:
            if (c == ',') {
                listed_ = true;
                state_ = State::kKey;
                return;
            }
            return expect('}', State::kDone);
        default:
            return Stop({ErrorCode::kInvalid, "there is more behind the list of tasks", "tasks"});
    }
}

// How many of the next bytes are of the task that is arriving: all, or those before the comma or the
// bracket behind it. Only finds where a task ends; whether it is one is looked at when it is whole.
std::size_t BulkReader::PassItem(std::string_view piece) {
    for (std::size_t at = 0; at < piece.size(); ++at) {
        if (std::exchange(escaped_, false)) continue;
        if (in_string_) {
            // Most of a text changes nothing.
            const std::string_view rest = piece.substr(at);
            const std::string_view plain = rest.substr(0, rest.find('"'));
            at += std::min(plain.size(), plain.find('\\'));
            if (at == piece.size()) break;
            escaped_ = piece[at] == '\\';
            in_string_ = escaped_;
            continue;
        }
        switch (const char c = piece[at]) {
            case '"':
                in_string_ = true;
                break;
            case '{':
            case '[':
                ++depth_;
                break;
            case '}':
            case ']':
                if (depth_ == 0 && c == ']') return at;
                // One too many is found when the text is checked.
                if (depth_ > 0) --depth_;
                break;
            case ',':
                if (depth_ == 0) return at;
                break;
            default:
                break;
        }
    }
    return piece.size();
}

void BulkReader::TakeItem(std::string_view text) {
    if (!Room()) return;
    if (const auto checked = CheckJson(text, {.bytes_max = text.size()})) {
        Read(text);
    } else {
        Error error = checked.error();
        error.detail = "task " + std::to_string(items_.size()) + " is no JSON: " + error.detail;
        Stop(std::move(error));
    }
}

// --- Both ---------------------------------------------------------------------------------------

bool BulkReader::Room() {
    const std::size_t most = services_.config.bulk_tasks_max;
    if (items_.size() < most) return true;
    Stop({ErrorCode::kExhausted,
          "at most " + std::to_string(most) + " tasks are taken in one request", "tasks"});
    return false;
}

// REQUIRES: checked JSON.
void BulkReader::Read(std::string_view text) {
    Item& item = items_.emplace_back();
    auto request =
        ReadTask(JsonView(text), services_.config.task_limits, services_.texts, {.now = now_});
    if (!request) {
        item.problem = std::make_unique<Problem>(ProblemOfRequest(request.error()));
        return;
    }
    auto named = IdOfKey(key_, std::to_string(items_.size()));
    if (!named) return Stop(std::move(named.error()));
    item.task = std::move(request->task);
    if (item.task->id.empty()) item.task->id = TaskId(std::move(*named));
    item.enabled = request->enabled;
    CarryTrace({.parent = traceparent_, .state = tracestate_}, *item.task);
}

}  // namespace takt::internal
