// RESP: the bytes of Redis' protocol. Commands are written by RespWriter, replies are read by
// hiredis' reader and held by Reply.
#pragma once

#include <hiredis/hiredis.h>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal::redis {

// Arguments one after the other, in the form in which they are sent. A commit has tens of thousands
// of them, so they are written once, straight into the buffer that goes to the socket, instead of
// gathered for hiredis' formatter to copy.
class RespWriter {
  public:
    RespWriter& Arg(std::string_view text) {
        Length('$', text.size());
        bytes_ += text;
        bytes_ += "\r\n";
        ++count_;
        return *this;
    }
    template <std::integral Number>
    RespWriter& Arg(Number number) {
        char digits[24];
        const char* end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
        return Arg(std::string_view(digits, static_cast<std::size_t>(end - digits)));
    }
    // The head of a command of `count` arguments, which follow.
    void Begin(std::size_t count) { Length('*', count); }
    void Append(const RespWriter& other) {
        bytes_ += other.bytes_;
        count_ += other.count_;
    }

    std::size_t count() const { return count_; }
    const std::string& bytes() const { return bytes_; }
    std::string Take() && { return std::move(bytes_); }
    void Clear() {
        bytes_.clear();
        count_ = 0;
    }

  private:
    void Length(char kind, std::size_t length) {
        char head[24] = {kind};
        char* end = std::to_chars(head + 1, head + sizeof(head) - 2, length).ptr;
        *end++ = '\r';
        *end++ = '\n';
        bytes_.append(head, static_cast<std::size_t>(end - head));
    }

    std::string bytes_;
    std::size_t count_ = 0;
};

// One whole command: Resp("SET", key, 5).
template <typename... Args>
std::string Resp(const Args&... args) {
    RespWriter writer;
    writer.Begin(sizeof...(Args));
    (writer.Arg(args), ...);
    return std::move(writer).Take();
}

// Looks at a reply. A reply of another kind than asked for reads as empty or absent: what a server
// sends is checked where it is used, and never trusted to have a shape.
class ReplyView {
  public:
    ReplyView() = default;
    explicit ReplyView(const redisReply* reply) : reply_(reply) {}

    bool is_error() const { return is(REDIS_REPLY_ERROR); }
    bool is_array() const { return is(REDIS_REPLY_ARRAY); }
    bool is_nil() const { return !reply_ || is(REDIS_REPLY_NIL); }

    std::string_view text() const {
        const bool has = is(REDIS_REPLY_STRING) || is(REDIS_REPLY_STATUS) || is(REDIS_REPLY_ERROR);
        return has ? std::string_view(reply_->str, static_cast<std::size_t>(reply_->len))
                   : std::string_view();
    }
    // An integer, or a text that spells one.
    std::optional<std::uint64_t> number() const {
        if (is(REDIS_REPLY_INTEGER)) {
            if (reply_->integer < 0) return std::nullopt;
            return static_cast<std::uint64_t>(reply_->integer);
        }
        const std::string_view digits = text();
        std::uint64_t value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
        return value;
    }

    std::size_t size() const { return is_array() ? reply_->elements : 0; }
    ReplyView operator[](std::size_t i) const {
        return i < size() ? ReplyView(reply_->element[i]) : ReplyView();
    }

  private:
    bool is(int type) const { return reply_ && reply_->type == type; }

    const redisReply* reply_ = nullptr;
};

// Owns a reply.
class Reply {
  public:
    explicit Reply(redisReply* reply) : reply_(reply) {}
    ReplyView view() const { return ReplyView(reply_.get()); }

  private:
    struct Free {
        void operator()(redisReply* reply) const { freeReplyObject(reply); }
    };
    std::unique_ptr<redisReply, Free> reply_;
};
using Replies = std::vector<Reply>;

}  // namespace takt::internal::redis
