// CallStore: the operations of a store as plain calls on the parts that a backend is made of.
//
// A backend whose parts have methods of the same names (a reader with ListTasks, leases with Announce)
// derives from CallStore<itself> and says once for each part how a call gets to its thread:
//
//   template <typename T, typename Work>
//   void Call(ReaderCall, Work work, Done<T> done);   // done(work(a_reader)), there
//
// Commit and DropPartition are left to the backend: each has its own way of gathering what it writes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace takt::internal {

struct TermCall {};   // Acquire, Resign.
struct LeaseCall {};  // Announce, Leaders: what keeps a lead.
struct NodesCall {};  // Nodes.
// Load, FindExecutions: the leader waits for these.
struct LoadCall {
    Partition partition;
};
// All other reads.
struct ReaderCall {
    Partition partition;
};

template <typename Backend>
class CallStore : public Store {
  public:
    void Announce(const NodeRow& node, Duration ttl, Done<void> done) override {
        Pass(LeaseCall{}, [node, ttl](auto& to) { return to.Announce(node, ttl); }, done);
    }
    void Nodes(Done<std::vector<NodeRow>> done) override {
        Pass(NodesCall{}, [](auto& to) { return to.Nodes(); }, done);
    }
    void Leaders(Done<std::vector<LeaderRow>> done) override {
        Pass(LeaseCall{}, [](auto& to) { return to.Leaders(); }, done);
    }
    void Acquire(const Candidate& candidate, Done<Term> done) override {
        Pass(TermCall{}, [candidate](auto& to) { return to.Acquire(candidate); }, done);
    }
    void Resign(const Term& term, const NodeId& successor, Done<void> done) override {
        Pass(TermCall{}, [term, successor](auto& to) { return to.Resign(term, successor); }, done);
    }
    void Load(Partition partition, const std::string& cursor, Done<LoadPage> done) override {
        Pass(
            LoadCall{partition},
            [partition, cursor](auto& to) { return to.Load(partition, cursor); }, done);
    }
    void FindExecutions(Partition partition, std::vector<ExecutionId> ids,
                        Done<std::vector<std::optional<Execution>>> done) override {
        Pass(
            LoadCall{partition},
            [partition, ids = std::move(ids)](auto& to) {
                return to.FindExecutions(partition, ids);
            },
            done);
    }
    void ListExecutions(const ExecutionFilter& filter, Done<std::vector<Execution>> done) override {
        Pass(
            ReaderCall{filter.partition}, [filter](auto& to) { return to.ListExecutions(filter); },
            done);
    }
    void FindTask(Partition partition, const TaskId& id, Done<TaskRow> done) override {
        Pass(
            ReaderCall{partition}, [partition, id](auto& to) { return to.FindTask(partition, id); },
            done);
    }
    void ListTasks(const TaskFilter& filter, Done<std::vector<TaskRow>> done) override {
        Pass(
            ReaderCall{filter.partition}, [filter](auto& to) { return to.ListTasks(filter); },
            done);
    }
    void ListWorkers(Partition partition, Done<std::vector<Worker>> done) override {
        Pass(
            ReaderCall{partition}, [partition](auto& to) { return to.ListWorkers(partition); },
            done);
    }
    void ListSettings(Partition partition, const Text& key_prefix,
                      Done<std::vector<SettingPut>> done) override {
        Pass(
            ReaderCall{partition},
            [partition, key_prefix](auto& to) { return to.ListSettings(partition, key_prefix); },
            done);
    }
    void ReadLog(Partition partition, const ExecutionId& execution, Serial after, std::size_t limit,
                 Done<std::vector<LogChunk>> done) override {
        Pass(
            ReaderCall{partition},
            [partition, execution, after, limit](auto& to) {
                return to.ReadLog(partition, execution, after, limit);
            },
            done);
    }
    void ReadEvents(Partition partition, Serial after, std::size_t limit,
                    Done<std::vector<Event>> done) override {
        Pass(
            ReaderCall{partition},
            [partition, after, limit](auto& to) { return to.ReadEvents(partition, after, limit); },
            done);
    }
    void ReadAudit(Partition partition, Serial before, std::size_t limit,
                   Done<std::vector<AuditRow>> done) override {
        Pass(
            ReaderCall{partition},
            [partition, before, limit](auto& to) { return to.ReadAudit(partition, before, limit); },
            done);
    }

  private:
    template <typename Part, typename Work, typename T>
    void Pass(Part part, Work work, Done<T>& done) {
        static_cast<Backend&>(*this).Call(part, std::move(work), std::move(done));
    }
};

}  // namespace takt::internal
