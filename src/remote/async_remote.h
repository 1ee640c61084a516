// AsyncRemote: calls the REST API of schedulers in other processes without waiting for them, many
// calls at once over pooled connections.
//
// Its thread begins with the first call. Questions that wait at the server have connections of
// their own, so that they hold up nobody.
#pragma once

#include <functional>
#include <memory>

#include "remote/remote.h"

namespace takt::internal {

class AsyncRemote {
  public:
    using Done = std::move_only_function<void(Result<RemoteAnswer>)>;

    // As many questions may wait at servers at once; more stand in line.
    static constexpr std::size_t kWaitsMax = 200;

    // Errors as of Remote::Open.
    static Result<std::unique_ptr<AsyncRemote>> Open(RemoteOptions options);
    // As Stop.
    ~AsyncRemote();

    // Ends what is under way with kCancelled; after it `done` is not called any more, whoever else
    // holds this, unless it is a `done` that calls this.
    void Stop();

    // From any thread. Errors as of Remote::Call. `done` is called once, on the remote's own thread,
    // which it must not block.
    void Call(RemoteQuestion question, Done done);

    // Reads an answer without an end piece by piece, on the remote's own thread, from the server that
    // answered last; `ended` is told when it has ended, and the next call goes to the next server if
    // that was no good answer. `last_id` is that of the last event seen, or empty.
    using Ended = std::move_only_function<void(Result<HttpAnswer>)>;
    void Stream(const std::string& path, const std::string& last_id,
                std::shared_ptr<HttpAnswerSink> sink, Ended ended);

  private:
    struct State;
    explicit AsyncRemote(std::shared_ptr<State> state);
    const std::shared_ptr<State> state_;  // Shared with its thread.
};

}  // namespace takt::internal
