// LogFollower: tells one client what an execution writes, as it writes it.
//
// Everything told comes from the store, in order, so that a client that comes back misses nothing
// and sees nothing twice. The hub only says when it is worth looking. A page is read when the one
// before has left: a slow client costs one page of memory, not a log.
#include "api/event_hub.h"
#include "api/execution_json.h"
#include "api/execution_log.h"
#include "base/log.h"

namespace takt::internal {
namespace {

// A chunk has up to 64 KiB, and JSON may spell a byte with six: a page always fits the buffer.
constexpr std::size_t kChunksPerPage = 8;
constexpr std::size_t kBufferBytes = 4 << 20;

// All on the server's thread.
class LogFollower : public std::enable_shared_from_this<LogFollower> {
  public:
    LogFollower(std::shared_ptr<Services> services, ExecutionId id, Serial after)
        : services_(std::move(services)), id_(std::move(id)), last_(after) {}

    void Open(std::shared_ptr<EventStream> stream) {
        stream_ = std::move(stream);
        // First told of changes, then looking: none falls between.
        number_ = services_->events.Follow(
            id_, [services = services_, weak = weak_from_this()](bool leading) {
                services->post([weak, leading] {
                    if (const auto self = weak.lock()) self->OnNews(leading);
                });
            });
        Look();
    }

    void Close() {
        services_->events.Unfollow(number_);
        stream_.reset();
    }

    void OnDrain() {
        if (!std::exchange(draining_, false)) return;
        GoOn();
    }

  private:
    void OnNews(bool leading) {
        if (!stream_) return;
        // The client comes back, and is passed on to whoever leads then.
        if (!leading) return stream_->Close();
        if (busy_) {
            news_ = true;
        } else {
            Look();
        }
    }

    // How it stands, then what it wrote: what it wrote before its end is all told before `end`.
    void Look() {
        busy_ = true;
        news_ = false;
        services_->rows.FindExecutions(
            {id_}, OnThread<std::vector<std::optional<Execution>>>([](LogFollower& self,
                                                                      const auto& found) {
                self.status_ = found.front() ? found.front()->status : Status::kCancelled;
                self.Read();
            }));
    }

    void Read() {
        services_->rows.ReadLog(
            id_, last_, kChunksPerPage,
            OnThread<std::vector<LogChunk>>(
                [](LogFollower& self, const auto& chunks) { self.Tell(chunks); }));
    }

    void Tell(const std::vector<LogChunk>& chunks) {
        more_ = chunks.size() == kChunksPerPage;
        draining_ = !chunks.empty();
        for (const LogChunk& chunk : chunks) {
            std::string data;
            JsonWriter json(data);
            WriteChunk(json, chunk);
            stream_->Write({.event = "lines", .data = data, .id = std::to_string(chunk.index)});
            last_ = chunk.index;
        }
        if (!chunks.empty()) services_->events.NoteOutputFound(number_, last_);
        if (!draining_) GoOn();
    }

    void GoOn() {
        if (!stream_) return;
        if (more_) return Read();
        if (IsTerminal(status_)) {
            std::string data;
            JsonWriter json(data);
            json.BeginObject().Field("status", Name(status_)).EndObject();
            stream_->Write({.event = "end", .data = data, .id = std::to_string(last_)});
            return stream_->Close();
        }
        // Another node leads now: it was not told of here, so nothing would ever wake this.
        if (number_ == 0) return stream_->Close();
        if (news_) return Look();
        busy_ = false;
    }

    // For the store's answers, which come on its threads.
    template <typename Rows, typename Then>
    Done<Rows> OnThread(Then then) {
        return [services = services_, weak = weak_from_this(), then](Result<Rows> rows) mutable {
            services->post([weak, then, rows = std::move(rows)] {
                const auto self = weak.lock();
                if (!self || !self->stream_) return;
                if (rows) return then(*self, *rows);
                Log(LogLevel::kWarning, "api", "cannot go on with a log",
                    {{"execution", self->id_}, {"error", rows.error().detail}});
                self->stream_->Close();  // The client comes back and says where it was.
            });
        };
    }

    const std::shared_ptr<Services> services_;
    const ExecutionId id_;
    Serial last_;
    std::shared_ptr<EventStream> stream_;  // Empty once it is closed.
    std::uint64_t number_ = 0;
    Status status_ = Status::kPending;
    bool busy_ = false;      // Reading or telling.
    bool news_ = false;      // Since it began to.
    bool draining_ = false;  // What was told is on its way out.
    bool more_ = false;      // The last page was full.
};

void Stream(Call call, ExecutionId id, Serial after) {
    auto follower = std::make_shared<LogFollower>(call.shared_services(), std::move(id), after);
    HttpResponse response;
    response.event_stream = std::make_shared<EventStreamOptions>();
    EventStreamOptions& options = *response.event_stream;
    options.buffer_bytes_max = kBufferBytes;
    options.on_open = [follower](std::shared_ptr<EventStream> stream) {
        follower->Open(std::move(stream));
    };
    options.on_drain = [weak = std::weak_ptr(follower)] {
        if (const auto self = weak.lock()) self->OnDrain();
    };
    options.on_close = [follower] { follower->Close(); };
    call.Send(std::move(response));
}

}  // namespace

void FollowLog(Call call, ExecutionId id, Serial after) {
    Services& services = call.services();
    std::vector<ExecutionId> ids = {id};
    services.rows.FindExecutions(std::move(ids), [call = std::move(call), id = std::move(id),
                                                  after](FoundExecutions found) mutable {
        if (!found) return call.RefuseAnswer(found.error());
        if (!found->front()) return call.RefuseAnswer(NoSuchExecution(id));
        const bool finished = IsTerminal(found->front()->status);
        const std::shared_ptr<Services> services = call.shared_services();
        services->post([call = std::move(call), id = std::move(id), after, finished]() mutable {
            const std::shared_ptr<Services> services = call.shared_services();
            const NodeStatus status = services->node.status();
            if (finished || status.role == Role::kLeader) {
                return Stream(std::move(call), std::move(id), after);
            }
            PassOn(std::move(call), status, services->gate->stream);
        });
    });
}

}  // namespace takt::internal
