// Upgrades: the next version raises the layout of what this one wrote.
#include "store/etcd/schema.h"

#include "store/etcd/ops.h"
#include "store/etcd/store_fixture.h"

namespace takt::internal::etcd {
namespace {

// A next layout that marks its data with a key of its own, fenced by the term.
struct NextLayout {
    int runs = 0;
    int failures = 0;  // So many times the step ends half way.

    Schema MakeSchema() {
        const auto run = [this](Client& client, const Keys& keys, Term term) {
            return Run(client, keys, term);
        };
        return {.known = kLayout + 1, .steps = {{kLayout + 1, run}}};
    }
    Async<Result<void>> Run(Client& client, const Keys& keys, Term term) {
        ++runs;
        pb::TxnRequest request;
        *request.add_compare() =
            CreatedAt(keys.Leader(term.partition), static_cast<std::int64_t>(term.nonce));
        request.add_success()->mutable_request_put()->set_key(keys.prefix() + "/raised");
        const auto done = co_await client.Txn(std::move(request), Effect::kRepeatable);
        if (!done) co_return std::unexpected(done.error());
        if (!done->succeeded()) co_return Fail(ErrorCode::kFenced, "the term is over");
        if (runs <= failures) co_return Fail(ErrorCode::kUnavailable, "cut off");
        co_return {};
    }
};

class EtcdLayoutTest : public EtcdTest {
  protected:
    void SetUp() override {
        StartServer();
        OpenStore();
        auto opened = OpenEtcd(*ParseEtcdUrl(server_->url()), next_.MakeSchema());
        ASSERT_TRUE(opened) << opened.error().detail;
        newer_ = std::move(*opened);
    }
    static Result<void> Announce(Store& store, const char* node, Duration ttl) {
        const NodeRow row{.node = NodeId(node), .address = "http://x", .version = "1"};
        return Await<void>([&](Done<void> done) { store.Announce(row, ttl, std::move(done)); });
    }
    Result<Term> AcquireNewer() {
        const Candidate candidate{
            .node = NodeId("node-b"), .address = "http://b", .ttl = Duration(600'000)};
        return Await<Term>([&](Done<Term> d) { newer_->Acquire(candidate, std::move(d)); });
    }
    void Resign(Store& store, const Term& term) {
        ASSERT_TRUE(Await<void>([&](Done<void> done) { store.Resign(term, std::move(done)); }));
    }
    std::string Layout() { return *server_->Ctl({"get", "--print-value-only", "/takt/layout"}); }

    NextLayout next_;
    std::unique_ptr<Store> newer_;
};

TEST_F(EtcdLayoutTest, TheNextVersionRaisesItWhenTheLastOldOneIsGone) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term) << term.error().detail;
    ASSERT_TRUE(Commit(*term, 1, {SettingPut{"a", "1"}}));
    ASSERT_TRUE(Announce(*store_, "node-a", Duration(600'000)));
    ASSERT_TRUE(Announce(*newer_, "node-b", Duration(600'000)));
    Resign(*store_, *term);

    const Result<Term> early = AcquireNewer();
    ASSERT_FALSE(early);
    EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(early.error().detail.find("node-a"), std::string::npos) << early.error().detail;

    ASSERT_TRUE(Announce(*store_, "node-a", Duration(0)));
    const Result<Term> led = AcquireNewer();
    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next_.runs, 1);
    EXPECT_EQ(Layout(), "2\n");
    Resign(*newer_, *led);
    const Result<Term> late = Acquire("node-a");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kInvalid) << late.error().detail;
    EXPECT_NE(late.error().detail.find("newer"), std::string::npos);
}

TEST_F(EtcdLayoutTest, ARaiseThatWasCutOffIsDoneAgain) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term) << term.error().detail;
    Resign(*store_, *term);
    next_.failures = 1;
    ASSERT_FALSE(AcquireNewer());
    EXPECT_EQ(Layout(), "1>2\n");
    EXPECT_FALSE(Acquire("node-a")) << "an older one does not lead over half of it";

    const Result<Term> led = AcquireNewer();

    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next_.runs, 2);
    EXPECT_EQ(Layout(), "2\n");
}

}  // namespace
}  // namespace takt::internal::etcd
