// Power cuts: a disk that forgets what was not synced, cut at each of its writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "store/conformance/suite.h"
#include "store/embedded/power_vfs.h"
#include "store/embedded/store.h"
#include "store/embedded/temporary_directory.h"
#include "store/lead.h"

namespace takt::internal::embedded {
namespace {

using conformance::Await;
using conformance::RowMaker;

class PowerTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(StartFailPoints());
        // Made before the disk is watched: how a database is made whole is database_file_test's.
        ASSERT_TRUE(OpenEmbedded({.directory = home_}));
        before_ = ReadDisk(home_);
        TakeDiskSteps();
    }

    // A scheduler starts, commits so many batches, several of them at once, and stops in order. The
    // disk is told of each that was answered.
    void Lead(std::uint64_t batches, EmbeddedOptions options = {}) {
        options.directory = home_;
        options.vfs = PowerVfs();
        auto store = OpenEmbedded(options);
        ASSERT_TRUE(store) << store.error().detail;
        const auto term = TakeLead(**store, {.node = {.node = NodeId("node")}});
        ASSERT_TRUE(term) << term.error().detail;
        std::vector<std::future<Result<void>>> answers;
        for (std::uint64_t sequence = 1; sequence <= batches; ++sequence) {
            const Text number(std::to_string(++sent_));
            const Execution row = make_.OneOff("e-" + number.str());
            const auto batch = std::make_shared<const Batch>(Batch{
                *term,
                sequence,
                row.serial,
                {SettingPut{"first", number}, ExecutionChange{Place::kNone, Place::kLive, row},
                 SettingPut{"second", number}}});
            answers.push_back(BeginAsk<void>([&](Done<void> done) {
                auto noted = [done = std::move(done), sent = sent_](Result<void> result) mutable {
                    if (result) NoteOnDisk(sent);
                    done(std::move(result));
                };
                (*store)->Commit(batch, std::move(noted));
            }));
            if (sequence % 2 == 0) continue;  // The next one goes along.
            for (auto& answer : answers) {
                const Result<void> done = answer.get();
                ASSERT_TRUE(done) << done.error().detail;
            }
            answers.clear();
        }
        for (auto& answer : answers) ASSERT_TRUE(answer.get());
    }

    // The machine comes up again with this disk.
    void Check(const DiskFiles& disk, std::uint64_t acknowledged) {
        WriteDisk(disk, root_.path() + "/after");
        auto store = OpenEmbedded({.directory = root_.path() + "/after"});
        ASSERT_TRUE(store) << "it cannot be opened: " << store.error().detail;
        const auto page = Await<LoadPage>(
            [&](auto done) { (*store)->Load(kDefaultPartition, "", std::move(done)); });
        ASSERT_TRUE(page) << page.error().detail;
        std::map<std::string, std::string> settings;
        for (const SettingPut& one : page->settings) settings[one.key.str()] = one.value.str();
        const std::size_t found = page->executions.size();
        EXPECT_EQ(settings["first"], settings["second"]) << "half of a batch";
        EXPECT_EQ(settings["first"], found == 0 ? "" : std::to_string(found)) << "half of a batch";
        for (std::size_t i = 0; i < found; ++i) {
            EXPECT_EQ(page->executions[i].id.view(), "e-" + std::to_string(i + 1));
        }
        EXPECT_GE(found, acknowledged) << "acknowledged, and lost with the power";
        EXPECT_LE(found, sent_);
        // And it goes on.
        EXPECT_TRUE(TakeLead(**store, {.node = {.node = NodeId("node")}}));
    }

    // The power goes at each step, with all that was not synced lost, or some of it.
    void CutEverywhere(const std::vector<DiskStep>& steps) {
        std::uint64_t acknowledged = 0;
        for (std::size_t cut = 0; cut <= steps.size() && !HasFailure(); ++cut) {
            if (cut > 0 && steps[cut - 1].kind == DiskStep::Kind::kNote) {
                acknowledged = std::max(acknowledged, steps[cut - 1].note);
            }
            SCOPED_TRACE("the power goes after step " + std::to_string(cut) + " of " +
                         std::to_string(steps.size()));
            const std::span<const DiskStep> done(steps.data(), cut);
            // Without what was not synced the disk changes with a sync only.
            const bool settled = cut == steps.size() || steps[cut].kind == DiskStep::Kind::kSync;
            if (settled) Check(AfterPowerCut(before_, done), acknowledged);
            Check(AfterPowerCut(before_, done, cut), acknowledged);
        }
    }

    TemporaryDirectory root_;
    const std::string home_ = root_.path() + "/home";
    DiskFiles before_;
    RowMaker make_;
    std::uint64_t sent_ = 0;
};

// The power goes at each write of a scheduler that starts, commits, stops, and does all that once more:
// the log is written, brought into the database, cut off and begun anew.
TEST_F(PowerTest, ACutAtAnyWriteLosesNothingThatWasAcknowledged) {
    ASSERT_NO_FATAL_FAILURE(Lead(3));
    ASSERT_NO_FATAL_FAILURE(Lead(3));
    const std::vector<DiskStep> steps = TakeDiskSteps();
    ASSERT_GE(std::ssize(steps), 20);

    CutEverywhere(steps);
}

// The same while a checkpointer brings the log into the database beside the commits, again and again,
// and the log starts over meanwhile.
TEST_F(PowerTest, ACutBesideACheckpointLosesNothingThatWasAcknowledged) {
    ASSERT_NO_FATAL_FAILURE(Lead(16, {.checkpoint_frames = 1}));
    const std::vector<DiskStep> steps = TakeDiskSteps();
    const auto restarts = std::ranges::count_if(steps, [](const DiskStep& step) {
        return step.file == "takt.db-wal" && step.kind == DiskStep::Kind::kWrite &&
               step.offset == 0;
    });
    ASSERT_GE(restarts, 2);

    CutEverywhere(steps);
}

// The disk of the test above: synced bytes stay, others may go, one by one or in part.
TEST(PowerCutTest, KeepsWhatWasSyncedAndMayLoseTheRest) {
    using Kind = DiskStep::Kind;
    const std::string page(1024, 'x');
    const std::vector<DiskStep> steps = {
        {.kind = Kind::kWrite, .file = "a", .bytes = "one"},
        {.kind = Kind::kSync, .file = "a"},
        {.kind = Kind::kWrite, .file = "a", .offset = 3, .bytes = page},
        {.kind = Kind::kDelete, .file = "b"}};
    const DiskFiles before = {{"b", "two"}};

    EXPECT_EQ(AfterPowerCut(before, steps), (DiskFiles{{"a", "one"}, {"b", "two"}}));

    bool lost = false;
    bool whole = false;
    bool torn = false;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const DiskFiles disk = AfterPowerCut(before, steps, seed);
        ASSERT_TRUE(disk.contains("a"));
        EXPECT_TRUE(disk.at("a").starts_with("one"));
        const auto arrived = std::ranges::count(disk.at("a"), 'x');
        (arrived == 0 ? lost : arrived == 1024 ? whole : torn) = true;
    }
    EXPECT_TRUE(lost && whole && torn);
}

}  // namespace
}  // namespace takt::internal::embedded
