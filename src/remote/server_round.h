// ServerRound: one question on its way over the servers of a cluster: whom to ask next, and what their
// answers come to. Knows nothing of how they travel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "remote/remote.h"

namespace takt::internal {

class ServerRound {
  public:
    // Begins with the server number `first`. `options` must outlive it.
    ServerRound(const RemoteOptions& options, RemoteQuestion question, std::size_t first);

    // To the server whose turn it is.
    HttpCall NextCall() const;
    // The answer to the question, or nothing: then the next call is to be sent.
    std::optional<Result<RemoteAnswer>> Take(Result<HttpAnswer> answer);
    // The number of the one whose turn it is, or who has answered.
    std::size_t server() const { return (first_ + asked_) % options_->servers.size(); }

  private:
    const RemoteOptions* options_;
    RemoteQuestion question_;
    std::size_t first_;
    std::size_t asked_ = 0;
};

// RefusalOf, in the words of whoever can give a token rather than a header.
Error RefusedBy(const RemoteOptions& options, std::string_view server, int status,
                std::string_view body);

}  // namespace takt::internal
