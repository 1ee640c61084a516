// Upgrades: the next version raises the layout of what this one wrote.
#include "store/etcd/schema.h"

#include "store/etcd/ops.h"
#include "store/etcd/pack.h"
#include "store/etcd/payload.h"
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
        *request.add_compare() = TermStands(keys, term);
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
        return TakeLead(*newer_, {.node = {.node = NodeId("node-b"), .address = "http://b"},
                                  .ttl = Duration(600'000)});
    }
    void Resign(Store& store, const Term& term) {
        ASSERT_TRUE(Await<void>([&](Done<void> done) { store.Resign(term, {}, std::move(done)); }));
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
    EXPECT_EQ(Layout(), std::to_string(kLayout + 1) + "\n");
    Resign(*newer_, *led);
    const Result<Term> late = Acquire("node-a");
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::kInvalid) << late.error().detail;
    EXPECT_NE(late.error().detail.find("newer"), std::string::npos);
}

TEST_F(EtcdLayoutTest, ARaiseThatWasCutOffIsDoneAgain) {
    const Result<Term> term = Acquire("node-a");
    ASSERT_TRUE(term) << term.error().detail;
    ASSERT_TRUE(Announce(*store_, "node-a", Duration(0)));
    next_.failures = 1;
    ASSERT_FALSE(AcquireNewer());
    EXPECT_EQ(Layout(), RaisingText(kLayout, kLayout + 1) + "\n");
    EXPECT_FALSE(Acquire("node-a")) << "an older one does not lead over half of it";

    const Result<Term> led = AcquireNewer();

    ASSERT_TRUE(led) << led.error().detail;
    EXPECT_EQ(next_.runs, 2);
    EXPECT_EQ(Layout(), std::to_string(kLayout + 1) + "\n");
}

// The bytes that two digits each stand for.
std::string Bytes(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    return bytes;
}

// All that a scheduler wrote before there were namespaces and runs (layout 1), or pages (2): a task
// that waits, one that was deleted and a recurring one. They are in the namespace `default`, where
// they stand, and have keys of their own.
class EtcdOlderLayoutTest : public EtcdTest, public testing::WithParamInterface<const char*> {};

TEST_P(EtcdOlderLayoutTest, ItsRowsStandWhereTheyStoodAndGoOn) {
    StartServer();
    const std::vector<std::pair<std::string, std::string>> stored = {
        {"/takt/layout", GetParam()},
        {"/takt/partitions/0", ""},
        {"/takt/0/epoch", "0000000000000007"},
        {"/takt/0/sequence", "0000000000000007 0000000000000006"},
        {"/takt/0/last_serial", "0547af39d7400000"},
        {"/takt/ids/ended", "0547af39c5c00000"},
        {"/takt/ids/waits", "0547af39c1c00000"},
        {"/takt/0/history/fab850c63a3fffff/ended",
         Bytes("0801100320062d3bbf301a35c59d1c813deb34bb1945de5b3b93")},
        {"/takt/0/live/fab850c63e3fffff/waits",
         Bytes(
             "088080808e9ce7eba305120577616974731a480a057761697473120577616974731a067265706f727422"
             "0764656661756c742a077b2261223a317d300538015087b6bb889e345887b6bb889e34620c9001649801"
             "64b00180b899293087b6bb889e343887eed4b19e3442074087eed4b19e34")},
        {"/takt/0/packs/0000000000000001-0000000000000003",
         Bytes(
             "0a8c0108808080ae9ce7eba3051205656e6465641a3f0a05656e6465641205656e6465641a067265706f"
             "7274220764656661756c74300538015097b6bb889e345897b6bb889e34620c900164980164b00180dbbd"
             "273097b6bb889e34389791f9af9e34422a0806409791f9af9e3450a7b6bb889e345a1808041a14697473"
             "207461736b207761732064656c65746564")},
        {"/takt/0/tasks/nightly",
         Bytes(
             "0a4a0a076e696768746c7912076e696768746c791a067265706f7274220764656661756c743005380150"
             "ddb6bb889e3458ddb6bb889e3462137a0b0a09302033202a202a202a90016498016412071080afb0929e"
             "34")}};
    for (const auto& [key, value] : stored) ASSERT_TRUE(server_->Ctl({"put", key, "--", value}));
    OpenStore();

    const Result<Term> term = Acquire();
    ASSERT_TRUE(term) << term.error().detail;
    EXPECT_EQ(term->epoch, 8u);
    EXPECT_EQ(*server_->Ctl({"get", "--print-value-only", "/takt/layout"}),
              std::to_string(kLayout) + "\n");
    const auto page =
        Await<LoadPage>([&](Done<LoadPage> done) { store_->Load(0, {}, std::move(done)); });
    ASSERT_TRUE(page) << page.error().detail;
    EXPECT_EQ(page->last_serial, 0x0547af39d7400000u);
    ASSERT_EQ(page->tasks.size(), 1u);
    EXPECT_EQ(page->tasks[0].task->name.view(), "nightly");
    ASSERT_EQ(page->executions.size(), 1u);
    Execution waiting = page->executions[0];
    EXPECT_EQ(waiting.id.view(), "waits");
    EXPECT_EQ(waiting.task->payload.view(), "{\"a\":1}");
    EXPECT_EQ(EncodeRow(waiting), stored[8].second) << "and not a byte more than it had";
    using Found = std::vector<std::optional<Execution>>;
    const auto found = Await<Found>([&](Done<Found> done) {
        store_->FindExecutions(kDefaultPartition, {ExecutionId("ended")}, std::move(done));
    });
    ASSERT_TRUE(found && found->front());
    EXPECT_EQ(found->front()->outcome->message.view(), "its task was deleted");
    EXPECT_EQ(EncodePointer(*found->front(), {1, 3}, 0), stored[7].second);

    // And all goes on: new ones come, in a page, one ends, the retention takes the other.
    const Execution fresh = make_.Fire("nightly", "fresh");
    ASSERT_TRUE(Commit(*term, 1, {ExecutionChange{Place::kNone, Place::kLive, fresh}}));
    EXPECT_NE(*server_->Ctl({"get", "--prefix", "--keys-only", "/takt/0/pages/live/"}), "");
    const Time ended = found->front()->finished_at;
    waiting = conformance::Finished(std::move(waiting));
    waiting.finished_at = ended + Duration(2);
    ASSERT_TRUE(Commit(*term, 2, {ExecutionChange{Place::kLive, Place::kHistory, waiting}}));
    ASSERT_TRUE(Commit(*term, 3, {Purge{.finished_before = ended + Duration(1)}}));
    const auto left = List({});
    ASSERT_TRUE(left && left->size() == 2);
    EXPECT_EQ(left->at(1).id.view(), "fresh");
    EXPECT_EQ(left->at(0).id.view(), "waits");
    EXPECT_EQ(*server_->Ctl({"get", "--prefix", "--keys-only", "/takt/0/live/"}), "");
    EXPECT_EQ(*server_->Ctl({"get", "--prefix", "--keys-only", "/takt/ids/ended"}), "");
}

INSTANTIATE_TEST_SUITE_P(Layouts, EtcdOlderLayoutTest, testing::Values("1", "2"));

}  // namespace
}  // namespace takt::internal::etcd
