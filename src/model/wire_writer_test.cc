#include "model/wire_writer.h"

#include <gtest/gtest.h>

#include "model/record.h"
#include "model/run_progress.h"
#include "model/workflow_testing.h"
#include "record.pb.h"

namespace takt::internal {
namespace {

// The bytes that the message itself makes of what it reads in them.
template <typename Message>
std::string AsMessage(const std::string& bytes) {
    Message message;
    EXPECT_TRUE(message.ParseFromString(bytes));
    return message.SerializeAsString();
}

TEST(WireWriterTest, ProgressIsSpelledAsItsMessageSpellsIt) {
    RunProgress progress;
    progress.round = 3;
    progress.children = 12'345;
    progress.ending =
        RunEnding{Status::kFailed, Reason::kStepFailed, Text(std::string(200, 'x')), "{}", true};
    for (const std::uint32_t total : {0u, 1u, 1'000u, 10'000u}) {
        StepProgress& step = progress.steps.emplace_back();
        if (total == 0) continue;  // One that has yet to begin.
        step = {.status = StepStatus::kRunning, .total = total, .cursor = total, .failed = 1};
        step.started_at = Time(Duration(1'800'000'000'000));
        step.finished_at = Time(Duration(-1));
        step.rounds = {0, 300};
        step.note = "why";
        for (std::uint32_t i = 0; i + 1 < total; i += 2) step.succeeded.Set(i);
        // Of more than 127 bytes, and of more than 16,383.
        for (std::uint32_t i = 0; i < total / 8; ++i) step.workers.emplace_back("worker-of-a-name");
    }
    const std::string bytes = EncodeProgress(progress);
    EXPECT_EQ(AsMessage<record::RunProgress>(bytes), bytes);
    EXPECT_EQ(DecodeProgress(bytes, 4).value(), progress);
    const std::string head = EncodeProgressHead(progress);
    EXPECT_EQ(AsMessage<record::RunProgress>(head), head);
}

// The spelling of the steps is made once and put behind the rest.
TEST(WireWriterTest, OptionsWithStepsAreSpelledAsTheirMessageSpellsThem) {
    TaskOptions options;
    options.unique_key = "key";
    options.locks = {{"a", 2}};
    options.workflow = MakeWorkflow({{"a"}, {"b", {"a"}}});
    const std::string bytes = EncodeOptions(options);
    EXPECT_EQ(AsMessage<record::Options>(bytes), bytes);
    EXPECT_EQ(EncodeOptions(options), bytes) << "as it is the first time";
    EXPECT_EQ(**DecodeOptions(bytes), options);
}

}  // namespace
}  // namespace takt::internal
