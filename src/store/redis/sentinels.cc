#include "store/redis/sentinels.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace takt::internal::redis {
namespace {

// Also by schedulers that only read.
constexpr Duration kRestPeriod{1'000};
// While a failover is under way: how soon its end is seen.
constexpr Duration kFailoverPeriod{50};
// Commits that end in between share a round.
constexpr Duration kRoundPeriodMin{2};
// Longer than an election that nobody wins (10 s): one that does not get on holds nobody up for ever.
constexpr Duration kFailoverMax{15'000};
// Sentinels that were all set up anew begin at epoch 0; one that is late says an older one for a
// moment.
constexpr Duration kOlderMax{10'000};
// How soon a Sentinel that was added is asked too.
constexpr Duration kDiscoverPeriod{10'000};
constexpr std::size_t kSentinelsMax = 16;

ReplyView Field(ReplyView pairs, std::string_view name) {
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        if (pairs[i].text() == name) return pairs[i + 1];
    }
    return {};
}

std::optional<Endpoint> ReadEndpoint(ReplyView host, ReplyView port) {
    const auto number = port.number();
    if (host.text().empty() || !number || *number == 0 || *number > 65535) return std::nullopt;
    return Endpoint{std::string(host.text()), static_cast<std::uint16_t>(*number)};
}

}  // namespace

Sentinels::Sentinels(boost::asio::io_context& io, const ConnectionSetup& setup,
                     const RedisOptions& options, Left left)
    : master_(options.master),
      setup_(setup),
      question_(std::make_shared<const std::string>(
          Resp("SENTINEL", "get-master-addr-by-name", options.master) +
          Resp("SENTINEL", "master", options.master))),
      question_of_others_(
          std::make_shared<const std::string>(Resp("SENTINEL", "sentinels", options.master))),
      left_(std::move(left)),
      io_(io),
      timer_(io) {
    for (const Endpoint& host : options.hosts) Add(host, true);
}

void Sentinels::Add(const Endpoint& endpoint, bool named) {
    ConnectionSetup setup = setup_;
    setup.endpoint = endpoint;
    auto sentinel = std::make_shared<Sentinel>();
    sentinel->connection = std::make_shared<Connection>(io_, std::move(setup));
    sentinel->named = named;
    // Others may be out of reach from here: nobody waits for them before they have answered once.
    sentinel->silent = !named;
    sentinels_.push_back(std::move(sentinel));
}

void Sentinels::Locate(HashSlot, Deadline deadline, Located done) {
    if (known_ && locating_.empty()) return done(primary_);
    locating_.push_back({deadline, std::move(done)});
    if (!asking_) BeginRound();
}

void Sentinels::Confirm(const Endpoint& at, Deadline deadline, Confirmed done) {
    if (closed_) return done(false);
    // Nobody is there who could replace it; the round of each second notices when they are back.
    if (at == primary_ && !was_held_ && AllSilent()) return done(true);
    confirming_.push_back({at, deadline, round_ + 1, std::move(done)});
    if (!asking_) Plan(was_held_ ? kFailoverPeriod : kRoundPeriodMin);
}

void Sentinels::Close() {
    closed_ = true;
    timer_.cancel();
    for (const SentinelPtr& sentinel : sentinels_) sentinel->connection->Close();
    for (Locating& one : std::exchange(locating_, {})) {
        one.done(std::unexpected(Failure{Failure::Kind::kCancelled, "the store was closed"}));
    }
    for (Confirming& one : std::exchange(confirming_, {})) one.done(false);
}

// --- Asking ------------------------------------------------------------------------------------

// A round so long after the last one began, or at once if that is past.
void Sentinels::Plan(Duration pause) {
    const Deadline at = began_ + pause;
    if (at >= planned_) return;
    planned_ = at;
    timer_.expires_at(at);
    timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
        if (error || self->closed_) return;
        self->planned_ = Deadline::max();
        if (!self->asking_) self->BeginRound();
    });
}

void Sentinels::BeginRound() {
    asking_ = true;
    ++round_;
    began_ = std::chrono::steady_clock::now();
    Deadline deadline = began_ + setup_.connect_timeout;
    for (const Locating& one : locating_) deadline = std::min(deadline, one.deadline);
    const bool all_silent = AllSilent();
    for (const SentinelPtr& one : sentinels_) one->waited = all_silent || !one->silent;
    for (const SentinelPtr& one : sentinels_) {
        if (!one->asked) Ask(one, deadline);
    }
}

bool Sentinels::AllSilent() const {
    return std::ranges::all_of(sentinels_, [](const SentinelPtr& one) { return one->silent; });
}

void Sentinels::Ask(const SentinelPtr& sentinel, Deadline deadline) {
    sentinel->asked = true;
    std::vector<Bytes> parts = {question_};
    if (began_ - discovered_ >= kDiscoverPeriod) parts.push_back(question_of_others_);
    const std::size_t replies = parts.size() + 1;  // The question is two commands.
    sentinel->connection->Send({.parts = std::move(parts),
                                .replies = replies,
                                .deadline = deadline,
                                .done = [self = shared_from_this(), sentinel](auto answer) {
                                    if (!self->closed_) self->Heard(*sentinel, std::move(answer));
                                }});
}

void Sentinels::Heard(Sentinel& sentinel, std::expected<Replies, Failure> replies) {
    sentinel.asked = false;
    sentinel.silent = !replies;
    sentinel.word.reset();
    if (replies) {
        WarnOfRights((*replies)[1].view());
        auto word = Read(*replies, sentinel.connection->endpoint());
        if (word) {
            if (!word->failover) {
                sentinel.failover_since.reset();
            } else if (!sentinel.failover_since) {
                sentinel.failover_since = std::chrono::steady_clock::now();
            }
            sentinel.failover_of = word->primary;
            sentinel.word = std::move(*word);
        } else {
            sentinel.failure = std::move(word.error());
        }
    } else {
        const bool refused = replies.error().kind == Failure::Kind::kRefused;
        sentinel.failure = {refused ? Failure::Kind::kRefused : Failure::Kind::kNotSent,
                            replies.error().detail};
    }
    sentinel.waited = false;
    if (replies && replies->size() == 3) Discover(replies->back().view());
    const auto waited = [](const SentinelPtr& one) { return one->waited; };
    if (asking_ && std::ranges::none_of(sentinels_, waited)) EndRound();
}

void Sentinels::Discover(ReplyView others) {
    discovered_ = std::chrono::steady_clock::now();
    if (!others.is_array()) return;
    std::vector<Endpoint> listed;
    for (std::size_t i = 0; i < others.size(); ++i) {
        auto endpoint = ReadEndpoint(Field(others[i], "ip"), Field(others[i], "port"));
        if (endpoint) listed.push_back(std::move(*endpoint));
    }
    std::erase_if(sentinels_, [&](const SentinelPtr& one) {
        const bool gone = !one->named && one->silent && !one->asked &&
                          std::ranges::find(listed, one->connection->endpoint()) == listed.end();
        if (gone) one->connection->Close();
        return gone;
    });
    for (const Endpoint& endpoint : listed) {
        const bool have = std::ranges::any_of(sentinels_, [&](const SentinelPtr& one) {
            return one->connection->endpoint() == endpoint;
        });
        if (!have && sentinels_.size() < kSentinelsMax) Add(endpoint, false);
    }
}

void Sentinels::WarnOfRights(ReplyView reply) {
    if (warned_ || !reply.text().starts_with("NOPERM")) return;
    warned_ = true;
    Log(LogLevel::kWarning, "store",
        "Sentinel does not let us see whether a failover has begun; one that is planned can lose "
        "what "
        "was committed meanwhile: allow sentinel_user +sentinel|master and +sentinel|sentinels",
        {{"error", reply.text()}});
}

std::expected<Sentinels::Word, Failure> Sentinels::Read(const Replies& replies,
                                                        const Endpoint& asked) const {
    const ReplyView address = replies[0].view();
    // Sentinels do not forget a primary that is away: a name that they do not know is a wrong one.
    if (address.is_nil()) {
        return std::unexpected(Failure{Failure::Kind::kRefused,
                                       "sentinel " + Show(asked) + " watches no master named '" +
                                           master_ + "'; the path of store.url names it"});
    }
    const auto primary = ReadEndpoint(address[0], address[1]);
    if (!primary) {
        return std::unexpected(
            Failure{Failure::Kind::kNotSent,
                    Show(asked) + " does not know: " + std::string(address.text().substr(0, 200))});
    }
    // The address above is that of the promoted server from its promotion on; here the old one
    // stands until all replicas follow. A user that may not ask this knows the address alone.
    const ReplyView fields = replies[1].view();
    const bool failover =
        Field(fields, "flags").text().find("failover_in_progress") != std::string_view::npos;
    const bool promoted = ReadEndpoint(Field(fields, "ip"), Field(fields, "port")) != primary;
    return Word{.primary = *primary,
                .epoch = Field(fields, "config-epoch").number().value_or(epoch_),
                .failover = failover && !promoted};
}

// --- Concluding --------------------------------------------------------------------------------

void Sentinels::EndRound() {
    asking_ = false;
    const std::uint64_t round = round_;
    const Deadline now = std::chrono::steady_clock::now();
    const bool heard = Conclude();
    const bool held = Held(now);
    if (held && !was_held_) {
        Log(LogLevel::kInfo, "store", "Sentinel has begun a failover; commits wait for its outcome",
            {{"primary", Show(primary_)}});
    }
    was_held_ = held;
    AnswerConfirming(round, now);
    AnswerLocating(heard);
    if (closed_ || asking_) return;
    if (held) {
        Plan(kFailoverPeriod);
    } else {
        Plan(confirming_.empty() ? kRestPeriod : kRoundPeriodMin);
    }
}

bool Sentinels::Conclude() {
    std::optional<std::uint64_t> newest;
    for (const SentinelPtr& one : sentinels_) {
        if (one->word && (!newest || *newest < one->word->epoch)) newest = one->word->epoch;
    }
    if (!newest) return false;
    known_ = true;
    const Deadline now = std::chrono::steady_clock::now();
    if (*newest >= epoch_) {
        older_since_.reset();
    } else {
        if (!older_since_) older_since_ = now;
        if (now - *older_since_ < kOlderMax) return true;
    }
    bool named = false;
    const Endpoint* other = nullptr;
    for (const SentinelPtr& one : sentinels_) {
        if (!one->word || one->word->epoch != *newest) continue;
        named = named || one->word->primary == primary_;
        if (!other) other = &one->word->primary;
    }
    epoch_ = *newest;
    older_since_.reset();
    // Of one epoch all should name the same; if they do not, nobody is moved for it.
    if (!named) Follow(*other);
    return true;
}

bool Sentinels::Held(Deadline now) const {
    return std::ranges::any_of(sentinels_, [&](const SentinelPtr& one) {
        return one->failover_since && now - *one->failover_since < kFailoverMax &&
               one->failover_of == primary_;
    });
}

void Sentinels::Follow(const Endpoint& primary) {
    const Endpoint old = std::exchange(primary_, primary);
    if (old.port == 0) return;
    Log(LogLevel::kInfo, "store", "Sentinel names another primary",
        {{"old", Show(old)}, {"new", Show(primary)}});
    left_(old);
}

Failure Sentinels::Ignorance() const {
    Failure last{Failure::Kind::kNotSent, {}};
    for (const SentinelPtr& one : sentinels_) {
        if (one->named) last = one->failure;
        if (last.kind == Failure::Kind::kRefused) break;
    }
    return last;
}

void Sentinels::AnswerLocating(bool heard) {
    for (Locating& one : std::exchange(locating_, {})) {
        if (heard) {
            one.done(primary_);
        } else {
            one.done(std::unexpected(Ignorance()));
        }
    }
}

void Sentinels::AnswerConfirming(std::uint64_t round, Deadline now) {
    for (Confirming& one : std::exchange(confirming_, {})) {
        const bool early = one.round > round && !AllSilent();
        const bool wait = one.at == primary_ && (early || was_held_);
        if (wait && one.deadline > now) {
            confirming_.push_back(std::move(one));
        } else {
            one.done(!wait && one.at == primary_);
        }
    }
}

}  // namespace takt::internal::redis
