#include "store/redis/topology.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "store/redis/sentinels.h"

namespace takt::internal::redis {
namespace {

class SingleTopology final : public Topology {
  public:
    explicit SingleTopology(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}
    void Locate(HashSlot, Deadline, Located done) override { done(endpoint_); }

  private:
    const Endpoint endpoint_;
};

// Asks one host after the other until one knows.
class AskingTopology : public Topology, public std::enable_shared_from_this<AskingTopology> {
  public:
    AskingTopology(boost::asio::io_context& io, ConnectionSetup setup, std::string question)
        : io_(io),
          setup_(std::move(setup)),
          question_(std::make_shared<const std::string>(std::move(question))) {}

    void Locate(HashSlot slot, Deadline deadline, Located done) override {
        if (known_ && waiting_.empty()) return done(Find(slot));
        waiting_.push_back({slot, deadline, std::move(done)});
        if (!asking_) Ask(Hosts());
    }
    void Suspect() override { known_ = false; }
    void Close() override {
        closed_ = true;
        if (asking_) std::exchange(asking_, nullptr)->Close();
        Answer(Failure{Failure::Kind::kCancelled, "the store was closed"});
    }

  protected:
    // Whom to ask, in this order.
    virtual std::deque<Endpoint> Hosts() const = 0;
    // False if `reply` does not tell.
    virtual bool Learn(ReplyView reply, const Endpoint& asked) = 0;
    virtual std::expected<Endpoint, Failure> Find(HashSlot slot) const = 0;

    void set_known() { known_ = true; }

  private:
    struct Waiting {
        HashSlot slot;
        Deadline deadline;
        Located done;
    };

    void Ask(std::deque<Endpoint> hosts) {
        ConnectionSetup setup = setup_;
        setup.endpoint = hosts.front();
        hosts.pop_front();
        Deadline deadline = std::chrono::steady_clock::now() + setup.connect_timeout;
        for (const Waiting& waiting : waiting_) deadline = std::min(deadline, waiting.deadline);
        asking_ = std::make_shared<Connection>(io_, setup);
        asking_->Send({.parts = {question_},
                       .replies = 1,
                       .deadline = deadline,
                       .done = [self = shared_from_this(), asked = setup.endpoint,
                                hosts = std::move(hosts)](auto replies) mutable {
                           self->Asked(asked, std::move(hosts), std::move(replies));
                       }});
    }

    void Asked(const Endpoint& asked, std::deque<Endpoint> hosts,
               std::expected<Replies, Failure> replies) {
        if (closed_) return;
        std::exchange(asking_, nullptr)->Close();
        if (replies && Learn(replies->front().view(), asked)) {
            known_ = true;
            return Answer(std::nullopt);
        }
        const Failure failure{Failure::Kind::kNotSent,
                              replies
                                  ? Show(asked) + " does not know: " +
                                        std::string(replies->front().view().text().substr(0, 200))
                                  : replies.error().detail};
        const Deadline now = std::chrono::steady_clock::now();
        auto all = std::exchange(waiting_, {});
        for (Waiting& waiting : all) {
            if (waiting.deadline > now && !hosts.empty()) {
                waiting_.push_back(std::move(waiting));
            } else {
                waiting.done(std::unexpected(failure));
            }
        }
        if (asking_ || waiting_.empty()) return;
        if (hosts.empty()) hosts = Hosts();
        Ask(std::move(hosts));
    }

    void Answer(std::optional<Failure> failure) {
        auto all = std::exchange(waiting_, {});
        for (Waiting& waiting : all) {
            if (failure) {
                waiting.done(std::unexpected(*failure));
            } else {
                waiting.done(Find(waiting.slot));
            }
        }
    }

    boost::asio::io_context& io_;
    const ConnectionSetup setup_;
    const Bytes question_;
    bool known_ = false;
    bool closed_ = false;
    std::shared_ptr<Connection> asking_;
    std::deque<Waiting> waiting_;
};

class ClusterTopology final : public AskingTopology {
  public:
    ClusterTopology(boost::asio::io_context& io, ConnectionSetup setup, const RedisOptions& options)
        : AskingTopology(io, std::move(setup), Resp("CLUSTER", "SLOTS")), seeds_(options.hosts) {}

    void Moved(HashSlot slot, const Endpoint& endpoint) override {
        if (owners_.empty()) owners_.resize(kHashSlotCount, kNobody);
        owners_[slot % kHashSlotCount] = IndexOf(endpoint);
        set_known();
    }

  protected:
    // The nodes seen last first: the seeds of a long-lived cluster may be gone.
    std::deque<Endpoint> Hosts() const override {
        std::deque<Endpoint> hosts(nodes_.begin(), nodes_.end());
        for (const Endpoint& seed : seeds_) {
            if (std::ranges::find(hosts, seed) == hosts.end()) hosts.push_back(seed);
        }
        return hosts;
    }
    bool Learn(ReplyView reply, const Endpoint& asked) override {
        if (reply.size() == 0) return false;
        nodes_.clear();
        owners_.assign(kHashSlotCount, kNobody);
        for (std::size_t i = 0; i < reply.size(); ++i) {
            const auto first = reply[i][0].number();
            const auto last = reply[i][1].number();
            const auto port = reply[i][2][1].number();
            if (!first || !last || !port || *last >= kHashSlotCount || *port > 65535) return false;
            // A node that does not know its own address names none: it is where we reached it.
            const std::string host(reply[i][2][0].text());
            const std::size_t owner =
                IndexOf({host.empty() ? asked.host : host, static_cast<std::uint16_t>(*port)});
            for (std::uint64_t slot = *first; slot <= *last; ++slot) owners_[slot] = owner;
        }
        return true;
    }
    std::expected<Endpoint, Failure> Find(HashSlot slot) const override {
        const std::size_t owner = owners_[slot % kHashSlotCount];
        if (owner == kNobody) {
            return std::unexpected(Failure{Failure::Kind::kNotSent,
                                           "no node of the cluster has the slot of the partition"});
        }
        return nodes_[owner];
    }

  private:
    static constexpr std::size_t kNobody = SIZE_MAX;

    std::size_t IndexOf(const Endpoint& endpoint) {
        const auto found = std::ranges::find(nodes_, endpoint);
        if (found != nodes_.end()) return static_cast<std::size_t>(found - nodes_.begin());
        nodes_.push_back(endpoint);
        return nodes_.size() - 1;
    }

    const std::vector<Endpoint> seeds_;
    std::vector<Endpoint> nodes_;
    std::vector<std::size_t> owners_;  // By slot, an index into nodes_.
};

}  // namespace

std::shared_ptr<Topology> MakeTopology(boost::asio::io_context& io, const RedisOptions& options,
                                       TlsClientContext* tls, Topology::Left left) {
    ConnectionSetup setup{.endpoint = {},
                          .credentials = options.credentials,
                          .connect_timeout = options.connect_timeout,
                          .tls = tls};
    switch (options.deployment) {
        case Deployment::kSentinel:
            setup.credentials = options.sentinel_credentials;
            return std::make_shared<Sentinels>(io, setup, options, std::move(left));
        case Deployment::kCluster:
            return std::make_shared<ClusterTopology>(io, std::move(setup), options);
        case Deployment::kSingle:
            break;
    }
    return std::make_shared<SingleTopology>(options.hosts.front());
}

}  // namespace takt::internal::redis
