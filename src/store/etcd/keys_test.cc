// Keys: their order is the order in which rows are read.
#include "store/etcd/keys.h"

#include <gtest/gtest.h>

#include <algorithm>

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
    EXPECT_LT(keys.Live(0, Kin::kOwn, {1001, "b"}), keys.Live(0, Kin::kOwn, {1000, "a"}));
    EXPECT_LT(keys.History(0, Kin::kOwn, {Serial{1} << 62, "b"}),
              keys.History(0, Kin::kOwn, {1, "a"}));
    const KeyRange range = keys.LiveRange(0, Kin::kOwn, 1000, 1002);
    EXPECT_TRUE(Holds(range, keys.Live(0, Kin::kOwn, {1000, "a"})));
    EXPECT_TRUE(Holds(range, keys.Live(0, Kin::kOwn, {1001, "zzz"})));
    EXPECT_FALSE(Holds(range, keys.Live(0, Kin::kOwn, {1002, "a"})));
    EXPECT_FALSE(Holds(range, keys.Live(0, Kin::kOwn, {999, "a"})));
    const KeyRange all = keys.LiveRange(0, Kin::kOwn, 0, 0);
    EXPECT_TRUE(Holds(all, keys.Live(0, Kin::kOwn, {0, "a"})));
    EXPECT_TRUE(
        Holds(all, keys.Live(0, Kin::kOwn, {(Serial{1} << 63) - 1 - (Serial{255} << 14), "a"})));
    EXPECT_FALSE(Holds(all, keys.History(0, Kin::kOwn, {5, "a"})));
}

// Two namespaces choose the same id. Partition 0 keeps the places of data from before there were
// others.
TEST(Keys, PartitionsShareNoKeyAndTheFirstKeepsItsPlaces) {
    const Keys keys("/takt");
    EXPECT_EQ(keys.Id(0, "a"), "/takt/ids/a");
    EXPECT_EQ(keys.Id(7, "a"), "/takt/7/ids/a");
    EXPECT_EQ(keys.Logs(0, "a").begin, "/takt/logs/a/");
    EXPECT_EQ(keys.Logs(7, "a").begin, "/takt/7/logs/a/");
    // Of a partition that is dropped all goes but its term.
    const ExecutionKey key{1000, "a"};
    const auto dropped = [&](const std::string& name) {
        return std::ranges::any_of(keys.Rows(7),
                                   [&](const KeyRange& range) { return Holds(range, name); });
    };
    for (const std::string& name : {keys.Page(7, PageSide::kLive, 5),
                                    keys.Page(7, PageSide::kHistory, 5),
                                    keys.Id(7, "a"),
                                    keys.Log(7, "a", 1),
                                    keys.Live(7, Kin::kOwn, key),
                                    keys.Live(7, Kin::kChild, key),
                                    keys.History(7, Kin::kOwn, key),
                                    keys.History(7, Kin::kChild, key),
                                    keys.Payload(7, key),
                                    keys.Override(7, key),
                                    keys.Child(7, "run", key),
                                    keys.RunPack(7, "run", {1, 2}),
                                    keys.Pack(7, {1, 2}),
                                    keys.Events(7, 1),
                                    keys.Task(7, "a"),
                                    keys.TaskPayload(7, "a", {1, 2}),
                                    keys.Worker(7, "a"),
                                    keys.Setting(7, "a"),
                                    keys.Record(7, RecordKind::kLock, "a"),
                                    keys.Audit(7, 1)}) {
        EXPECT_TRUE(dropped(name)) << name;
    }
    for (const std::string& name :
         {keys.Epoch(7), keys.LastSerial(7), keys.Sequence(7), keys.LeaderRow(7), keys.Id(0, "a"),
          keys.Log(0, "a", 1), keys.Live(70, Kin::kOwn, key)}) {
        EXPECT_FALSE(dropped(name)) << name;
    }
}

// Lists and the retention do not walk over the parts of runs, and a run is one range.
TEST(Keys, ChildrenOfRunsAreApart) {
    const Keys keys("/takt");
    const ExecutionKey key{1000, "a"};
    EXPECT_FALSE(Holds(keys.LiveRange(0, Kin::kOwn, 0, 0), keys.Live(0, Kin::kChild, key)));
    EXPECT_FALSE(Holds(keys.HistoryRange(0, Kin::kOwn, 0, 0), keys.History(0, Kin::kChild, key)));
    EXPECT_TRUE(
        Holds(keys.HistoryRange(0, Kin::kChild, 1000, 1001), keys.History(0, Kin::kChild, key)));
    EXPECT_TRUE(Holds(keys.ChildRange(0, "r", 0, 0), keys.Child(0, "r", key)));
    EXPECT_FALSE(Holds(keys.ChildRange(0, "r", 0, 0), keys.RunPack(0, "r", {1, 2})));
    EXPECT_TRUE(Holds(keys.Run(0, "r"), keys.RunPack(0, "r", {1, 2})));
    EXPECT_TRUE(Holds(keys.Run(0, "r"), keys.Child(0, "r", key)));
    EXPECT_FALSE(Holds(keys.Run(0, "r"), keys.Child(0, "r-2", key)));
    const KeyRange packs{keys.Pack(0, {0, 0}), keys.Pack(0, {UINT64_MAX, UINT64_MAX})};
    EXPECT_FALSE(Holds(packs, keys.RunPack(0, "r", {1, 2})));
}

// The order of the keys of records is that of kind and key, whatever bytes the key has.
TEST(Keys, ARecordIsReadBackFromItsKey) {
    const Keys keys("/takt");
    const std::string text("a/b\0c", 5);
    const std::string name = keys.Record(7, static_cast<RecordKind>(12), text);
    EXPECT_LT(keys.Record(7, RecordKind::kRun, "z"), name);
    const auto parsed =
        Keys::ParseRecord(std::string_view(name).substr(keys.Records(7).begin.size()));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(static_cast<int>(parsed->first), 12);
    EXPECT_EQ(parsed->second, text);
    EXPECT_FALSE(Keys::ParseRecord("12/a"));
}

// An id that somebody chose leads to its row, also if that is part of a run.
TEST(Keys, TheValueOfAnIdSaysWhereItsRowIs) {
    for (const Kin kin : {Kin::kOwn, Kin::kChild}) {
        const auto value = ParseIdValue(EncodeIdValue({77, kin}));
        ASSERT_TRUE(value);
        EXPECT_EQ(value->serial, 77u);
        EXPECT_EQ(value->kin, kin);
    }
    EXPECT_EQ(EncodeIdValue({77, Kin::kOwn}), Hex(77)) << "as in data from before there were runs";
    EXPECT_FALSE(ParseIdValue("c"));
}

// A key tells what it is of even when its value cannot be read.
TEST(Keys, SerialAndIdAreReadBackFromTheKey) {
    const Keys keys("/a/b");
    const std::string key = keys.Live(0, Kin::kOwn, {123456789, "my-id"});
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

// The code that etcd answers decides whether the node may take the commit for not done.
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
