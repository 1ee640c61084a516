// The fixture of tests about leadership: a node whose store is answered by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "node/driven.h"
#include "node/leadership.h"

namespace takt::internal {

class LeadershipTest : public ::testing::Test {
  protected:
    static constexpr Term kTerm{0, 7, 99};

    LeadershipTest() {
        store.presence_by_hand = true;
        Make();
    }
    ~LeadershipTest() override {
        leadership.reset();
        runtime.Run();
    }

    void Make() {
        presence = std::make_unique<Presence>(
            runtime, store, PresenceConfig{.row = {.node = NodeId("a"), .address = "http://a"}},
            SeedOf(1));
        leadership = std::make_unique<Leadership>(
            runtime, store, *presence, Partition(0), "default",
            Leadership::Events{
                .on_elected = [this](const Term&) { ++elected; },
                .on_deposed =
                    [this](const std::string& reason) {
                        ++deposed;
                        why = reason;
                    },
                .on_change = [this] { ++changes; },
                .on_hand_over = [this](const NodeId& to) { heir = to; },
                .on_loss = [this](std::uint64_t had,
                                  std::uint64_t has) { losses.emplace_back(had, has); }});
    }

    void Start() {
        leadership->Start();
        presence->Start();
        runtime.Run();
    }
    static LeaderRow RowOf(const char* node, const Term& term) {
        return {term.partition, NodeId(node), Text(std::string("http://") + node), term.epoch,
                term.nonce};
    }
    // Announced, and nobody leads: the node campaigns.
    void StartCampaign() {
        Start();
        Announced();
        Read({});
        runtime.Pass(1ms);
        ASSERT_EQ(store.acquires.size(), 1u);
    }
    void Win() {
        StartCampaign();
        Answer(store.acquires, Result<Term>(kTerm));
        ASSERT_EQ(elected, 1);
    }
    void Announced() {
        Answer(store.announces, Result<void>());
        while (!store.nodes.empty()) Answer(store.nodes, Result<std::vector<NodeRow>>());
    }
    // The reads under way are answered so; one that began earlier may be among them.
    void Read(const std::vector<LeaderRow>& rows) {
        for (int i = 0; i < 2 && store.leaders.empty(); ++i) runtime.Pass(700ms);
        while (!store.leaders.empty()) {
            Answer(store.leaders, Result<std::vector<LeaderRow>>(rows));
        }
    }
    template <typename Questions, typename T>
    void Answer(Questions& questions, Result<T> answer) {
        DrivenStore::Reply(questions, std::move(answer));
        runtime.Run();
    }
    // Time passes in which the store answers everything, with these rows.
    void PassWell(Duration time, const std::vector<LeaderRow>& rows) {
        for (; time > Duration(0); time -= 100ms) {
            runtime.Pass(100ms);
            while (!store.announces.empty()) Announced();
            while (!store.leaders.empty()) {
                Answer(store.leaders, Result<std::vector<LeaderRow>>(rows));
            }
        }
    }

    static std::size_t Count(const LogCapture& log, std::string_view text) {
        return static_cast<std::size_t>(std::ranges::count_if(
            log.lines(), [&](const std::string& line) { return line.contains(text); }));
    }

    LogCapture log;
    DrivenRuntime runtime;
    DrivenStore store;
    std::unique_ptr<Presence> presence;
    std::unique_ptr<Leadership> leadership;
    int elected = 0;
    int deposed = 0;
    int changes = 0;
    std::string why;
    NodeId heir;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> losses;  // The terms before and after.
};

}  // namespace takt::internal
