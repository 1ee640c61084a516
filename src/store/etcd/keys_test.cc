// Keys: their order is the order in which rows are read.
#include "store/etcd/keys.h"

#include <gtest/gtest.h>

#include "store/etcd/pack.h"
#include "store/etcd/verdict.h"

namespace takt::internal::etcd {
namespace {

bool Holds(const KeyRange& range, const std::string& key) {
    return key >= range.begin && key < range.end;
}

// Lists are newest first, and a page begins right below the last serial of the page before.
TEST(Keys, NewerExecutionsComeFirstAndRangesAreExact) {
    const Keys keys("/takt");
    EXPECT_LT(keys.Live(1001, "b"), keys.Live(1000, "a"));
    EXPECT_LT(keys.History(Serial{1} << 62, "b"), keys.History(1, "a"));
    const KeyRange range = keys.LiveRange(0, 1000, 1002);
    EXPECT_TRUE(Holds(range, keys.Live(1000, "a")));
    EXPECT_TRUE(Holds(range, keys.Live(1001, "zzz")));
    EXPECT_FALSE(Holds(range, keys.Live(1002, "a")));
    EXPECT_FALSE(Holds(range, keys.Live(999, "a")));
    const KeyRange all = keys.LiveRange(0, 0, 0);
    EXPECT_TRUE(Holds(all, keys.Live(0, "a")));
    EXPECT_TRUE(Holds(all, keys.Live((Serial{1} << 63) - 1 - (Serial{255} << 14), "a")));
    EXPECT_FALSE(Holds(all, keys.History(5, "a")));
}

// A key tells what it is of even when its value cannot be read.
TEST(Keys, SerialAndIdAreReadBackFromTheKey) {
    const Keys keys("/a/b");
    const std::string key = keys.Live(123456789, "my-id");
    const auto parsed = ParseExecutionKey(key);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->serial, 123456789u);
    EXPECT_EQ(parsed->id, "my-id");
    EXPECT_EQ(ParsePackKey(keys.Pack(0, {7, 9})), (PackName{7, 9}));
    EXPECT_FALSE(ParseExecutionKey("/takt/0/leader"));
    EXPECT_FALSE(ParsePackKey("/takt/0/packs/x"));
}

// Generated ids need no key of their own: they spell their serial.
TEST(Keys, AGeneratedIdIsReadAsItsSerial) {
    for (const Serial serial : {Serial{0}, Serial{1}, Serial{981273987123}, Serial{1} << 62}) {
        EXPECT_EQ(ParseSerialText(SerialText(serial)), serial);
    }
    EXPECT_FALSE(ParseSerialText("e-1"));
    EXPECT_FALSE(ParseSerialText("zzzzzzzzzzzzz")) << "above 64 bits";
    EXPECT_FALSE(ParseSerialText("000000000000u")) << "not a digit";
}

// Settings are under keys that users choose, of any bytes.
TEST(Keys, ARangeByPrefixEndsBehindAllThatBeginWithIt) {
    EXPECT_EQ(WithPrefix("ab").end, "ac");
    EXPECT_EQ(WithPrefix("a\xFF").end, "b");
    EXPECT_EQ(WithPrefix("\xFF\xFF").end, std::string(1, '\0'));
}

// Packs are read back as they were, small and large, and garbage is refused.
TEST(Pack, RowsComeBackInOrder) {
    const std::vector<std::string> small = {"a", "", "c"};
    std::vector<std::string> large(100, std::string(300, 'x'));
    large[50] = "another";
    EXPECT_EQ(*DecodePack(EncodePack(small)), small);
    EXPECT_EQ(*DecodePack(EncodePack(large)), large);
    EXPECT_LT(EncodePack(large).size(), 2000u) << "likeness is not stored again and again";
    EXPECT_FALSE(DecodePack("garbage"));
    std::string torn = EncodePack(large);
    torn.resize(torn.size() / 2);
    EXPECT_FALSE(DecodePack(torn));
    EXPECT_FALSE(DecodePointer("garbage"));
}

// What etcd says decides whether the node may take the commit for not done.
TEST(Verdict, OnlyWhatSurelyWasNotAppliedIsSaidToBeSo) {
    const auto judge = [](RpcCode code, const char* words) { return Judge({code, words}); };
    using Next = Verdict::Next;
    EXPECT_FALSE(judge(RpcCode::kUnavailable, "failed to connect to all addresses").maybe_applied);
    EXPECT_FALSE(judge(RpcCode::kUnavailable, "etcdserver: no leader").maybe_applied);
    EXPECT_TRUE(judge(RpcCode::kUnavailable, "Socket closed").maybe_applied);
    EXPECT_TRUE(judge(RpcCode::kUnavailable, "etcdserver: request timed out").maybe_applied);
    EXPECT_TRUE(judge(RpcCode::kUnavailable, "etcdserver: leader changed").maybe_applied);
    EXPECT_TRUE(judge(RpcCode::kDeadlineExceeded, "").maybe_applied);
    EXPECT_TRUE(judge(static_cast<RpcCode>(13), "internal").maybe_applied);
    EXPECT_EQ(judge(RpcCode::kUnauthenticated, "etcdserver: invalid auth token").next,
              Next::kNewToken);
    const Verdict full =
        judge(RpcCode::kResourceExhausted, "etcdserver: mvcc: database space exceeded");
    EXPECT_EQ(full.next, Next::kStop);
    EXPECT_FALSE(full.maybe_applied);
    EXPECT_EQ(full.error.code, ErrorCode::kUnavailable);
    EXPECT_EQ(judge(RpcCode::kOutOfRange, "etcdserver: mvcc: required revision has been compacted")
                  .error.code,
              ErrorCode::kConflict);
    EXPECT_EQ(judge(RpcCode::kInvalidArgument, "etcdserver: request is too large").error.code,
              ErrorCode::kInvalid);
}

}  // namespace
}  // namespace takt::internal::etcd
