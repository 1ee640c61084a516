#include "server/realms.h"

#include <gtest/gtest.h>

#include <future>

#include "base/log.h"
#include "server/settings.h"
#include "store/memory/store.h"

namespace takt::internal {
namespace {

class RealmsTest : public testing::Test {
  protected:
    void SetUp() override {
        auto settings = ReadServerSettings(config_);
        ASSERT_TRUE(settings) << settings.error().detail;
        settings_ = std::move(*settings);
        ASSERT_TRUE(loops_.emplace_back().MakeClients(config_));
        presence_ = std::make_unique<Presence>(
            loops_[0].runtime(), store_, PresenceConfig{.row = {.node = id_}}, NewRandomSeed());
        ground_.emplace(RealmGround{.config = config_,
                                    .node = id_,
                                    .address = address_,
                                    .settings = settings_,
                                    .store = store_,
                                    .recent = store_,
                                    .presence = *presence_,
                                    .mailer = mailer_,
                                    .commons = std::make_shared<const Commons>()});
        realms_ = std::make_unique<Realms>(
            *ground_, loops_,
            RealmsEvents{.on_made = [](const auto&) {}, .on_gone = [](const auto&) {}});
        ASSERT_TRUE(realms_->MakeDefault(nullptr));
        loops_[0].Start();
    }
    void TearDown() override {
        loops_[0].Stop();
        realms_->Dismantle();
    }

    bool Refresh() {
        std::promise<bool> read;
        realms_->Refresh([&](bool was_read) { read.set_value(was_read); });
        return read.get_future().get();
    }

    // As the leader of `default` does it.
    void MakeNamespace(const std::string& name) {
        const NodeRow node{.node = NodeId("leader")};
        ASSERT_TRUE(database_->Announce(node, std::chrono::seconds(60)));
        const auto term = database_->Acquire({.node = node.node});
        ASSERT_TRUE(term);
        Batch batch{.term = *term, .sequence = 1};
        batch.changes.emplace_back(SettingOf({.name = name, .number = 1, .id = 1}));
        ASSERT_TRUE(database_->Commit(batch));
    }

    const LogCapture quiet_;
    Config config_;
    ServerSettings settings_;
    NodeId id_{"node"};
    std::string address_;
    std::deque<WorkLoop> loops_;
    const std::shared_ptr<MemoryDatabase> database_ = std::make_shared<MemoryDatabase>();
    MemoryStore store_{database_};
    Mailer mailer_;
    std::unique_ptr<Presence> presence_;
    std::optional<RealmGround> ground_;
    std::unique_ptr<Realms> realms_;
};

// An operator wrote `defualt`. Nobody can know that it will not be made one day, so it is said once,
// and not at each look.
TEST_F(RealmsTest, NamesOfWhichThereIsNoNamespaceAreSaidOnceForTheSameList) {
    config_.scheduler.namespaces = {"default", "defualt", "billing"};
    const auto said = [&] {
        std::vector<std::string> lines;
        for (const std::string& line : quiet_.lines()) {
            if (line.contains("scheduler.namespaces")) lines.push_back(line);
        }
        return lines;
    };
    EXPECT_TRUE(Refresh());
    EXPECT_TRUE(Refresh());
    ASSERT_EQ(said().size(), 1u);
    EXPECT_TRUE(said()[0].contains("names=\"defualt, billing\"")) << said()[0];

    MakeNamespace("billing");
    EXPECT_TRUE(Refresh());
    ASSERT_EQ(said().size(), 2u);
    EXPECT_TRUE(said()[1].ends_with("names=defualt")) << said()[1];
    std::promise<void> stopped;
    realms_->Stop({}, [&] { stopped.set_value(); });
    stopped.get_future().wait();
}

// A request comes for a namespace that a scheduler has not heard of, while that one stops: it reads the
// directory and takes nothing from it. It must not say that there is no such namespace.
TEST_F(RealmsTest, WhatStopsDoesNotKnowWhichNamespacesThereAre) {
    EXPECT_TRUE(Refresh());
    std::promise<void> stopped;

    realms_->Stop({}, [&] { stopped.set_value(); });

    EXPECT_FALSE(Refresh());
    stopped.get_future().wait();
    EXPECT_FALSE(Refresh());
}

}  // namespace
}  // namespace takt::internal
