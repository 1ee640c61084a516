// Records that must not be believed: of newer versions, with impossible numbers, damaged.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "model/record.h"
#include "model/record_testing.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

template <typename Change>
bool ExecutionRefused(Change change) {
    record::Execution message;
    EXPECT_TRUE(message.ParseFromString(EncodeExecution(FullExecution())));
    change(message);
    const auto read = DecodeExecution(message.SerializeAsString());
    return !read && read.error().code == ErrorCode::kInvalid;
}

// A node of an older version reads a row that a newer one wrote, with a state it does not know.
TEST(RecordRefusal, UnknownEnumeratorsAreRefused) {
    EXPECT_FALSE(ExecutionRefused([](record::Execution&) {}));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.mutable_state()->set_status(kStatusCount); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.set_origin(5); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.set_origin(256); }));
    EXPECT_TRUE(
        ExecutionRefused([](auto& m) { m.mutable_state()->mutable_outcome()->set_reason(19); }));
    EXPECT_TRUE(ExecutionRefused(
        [](auto& m) { m.mutable_state()->mutable_outcome()->add_past()->set_end(4); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) {
        for (int i = 0; i < 21; ++i) m.mutable_state()->mutable_outcome()->add_past();
    }));
    const auto options = [](auto change) {
        return ExecutionRefused(
            [&](record::Execution& m) { change(*m.mutable_task()->mutable_options()); });
    };
    EXPECT_TRUE(options([](record::Options& o) { o.set_strategy(10); }));
    EXPECT_TRUE(options([](record::Options& o) { o.set_mode(4); }));
    EXPECT_TRUE(options([](record::Options& o) { o.set_misfire(3); }));
    EXPECT_TRUE(options([](record::Options& o) { o.mutable_recurrence()->set_dst(3); }));
    record::Event event;
    event.set_type(kEventTypeCount);
    EXPECT_FALSE(DecodeEvent(event.SerializeAsString()));
    record::Worker worker;
    worker.set_id("w");
    EXPECT_TRUE(DecodeWorker(worker.SerializeAsString()));
    worker.set_status(4);
    EXPECT_FALSE(DecodeWorker(worker.SerializeAsString()));
    worker.set_status(0);
    worker.set_link(2);
    EXPECT_FALSE(DecodeWorker(worker.SerializeAsString()));
}

// A damaged row decodes as protobuf by accident; what it says must not be computed with.
TEST(RecordRefusal, NumbersOutOfBoundsAreRefused) {
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    EXPECT_TRUE(ExecutionRefused([&](auto& m) { m.set_created_at_ms(huge); }));
    EXPECT_TRUE(ExecutionRefused([&](auto& m) { m.mutable_state()->set_ready_at_ms(-huge); }));
    EXPECT_TRUE(ExecutionRefused([&](auto& m) { m.mutable_task()->set_timeout_ms(huge); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.mutable_task()->set_priority(10); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.mutable_task()->clear_id(); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.clear_task(); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.clear_id(); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) { m.mutable_state()->set_token("short"); }));
    EXPECT_TRUE(ExecutionRefused([](auto& m) {
        m.mutable_task()->mutable_options()->mutable_retry()->set_jitter(std::nan(""));
    }));
    EXPECT_FALSE(DecodeExecution(""));
    EXPECT_FALSE(DecodeTaskRow(""));
    EXPECT_FALSE(DecodeWorker(""));
}

void DecodeAll(std::string_view bytes) {
    (void)DecodeExecution(bytes);
    (void)DecodeTaskRow(bytes);
    (void)DecodeOptions(bytes);
    (void)DecodeOutcome(bytes);
    (void)DecodeOutcomeHead(bytes);
    (void)DecodeWorker(bytes);
    (void)DecodeEvent(bytes);
}

// A disk lost the end of a row, or flipped some bits in it. The node goes on.
TEST(RecordRefusal, DamagedBytesNeverCrash) {
    const std::string good = EncodeExecution(FullExecution());
    ASSERT_TRUE(DecodeExecution(good)) << "only what could be read before can be damaged";
    for (std::size_t size = 0; size < good.size(); ++size) DecodeAll(good.substr(0, size));
    Random random(SeedOf(1));
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes = good;
        for (std::uint64_t flips = 1 + random.Below(4); flips > 0; --flips) {
            bytes[random.Below(bytes.size())] ^= static_cast<char>(1 << random.Below(8));
        }
        DecodeAll(bytes);
        std::string noise(random.Below(64), '\0');
        random.Fill({reinterpret_cast<std::uint8_t*>(noise.data()), noise.size()});
        DecodeAll(noise);
    }
}

}  // namespace
}  // namespace takt::internal
