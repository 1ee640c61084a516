// The inside of an HttpReply: the way back from a handler to its connection, from any thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "http/connection.h"

namespace takt::internal::http {

// 32 bytes, so that std::move_only_function stores it without allocating.
class ReplySlot {
  public:
    ReplySlot(std::weak_ptr<Connection> connection, boost::asio::io_context& io,
              std::uint32_t sequence)
        : connection_(std::move(connection)), io_(&io), sequence_(sequence) {}
    ReplySlot(ReplySlot&& other) noexcept
        : connection_(std::move(other.connection_)),
          io_(std::exchange(other.io_, nullptr)),
          sequence_(other.sequence_) {}
    ReplySlot& operator=(ReplySlot&&) = delete;
    ~ReplySlot() {
        if (io_) (*this)(HttpResponse::Text(500, "the request was dropped\n"));
    }

    void operator()(HttpResponse response) {
        boost::asio::io_context* io = std::exchange(io_, nullptr);
        if (!io) return;
        // The connection is touched, and kept alive, on its own thread only.
        if (io->get_executor().running_in_this_thread()) {
            if (const auto connection = connection_.lock()) {
                connection->OnReply(sequence_, std::move(response));
            }
            return;
        }
        boost::asio::post(*io, [connection = std::move(connection_), sequence = sequence_,
                                response = std::move(response)]() mutable {
            if (const auto alive = connection.lock()) {
                alive->OnReply(sequence, std::move(response));
            }
        });
    }

  private:
    std::weak_ptr<Connection> connection_;
    boost::asio::io_context* io_;
    std::uint32_t sequence_;
};

}  // namespace takt::internal::http
