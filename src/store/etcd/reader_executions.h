// ExecutionReader: executions of a partition by id and by filter, live and finished together, as of
// one moment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/etcd/pack.h"
#include "store/etcd/snapshot.h"
#include "store/list_page.h"

namespace takt::internal::etcd {

// Good for one read.
class ExecutionReader {
  public:
    ExecutionReader(Client& client, const Keys& keys, Partition partition)
        : keys_(keys), partition_(partition), snapshot_(client) {}

    Async<Result<std::vector<std::optional<Execution>>>> Find(std::vector<ExecutionId> ids);
    Async<Result<std::vector<Execution>>> List(ExecutionFilter filter);

  private:
    // Ten seconds of serials.
    static constexpr Serial kWindowMin = Serial{10'000} << 22;

    // One row of the answer: read from its live key, or still a pointer into a pack.
    struct Candidate {
        Serial serial = 0;
        std::string id;
        std::optional<Execution> row;
        std::optional<Pointer> pointer;
        bool lacks_payload = false;
    };
    // Where an execution may be.
    struct Spot {
        Kin kin{};
        Serial serial = 0;
        std::string id;
    };
    // Where rows of a list come from.
    enum class SourceKind : std::uint8_t {
        kLive,
        kHistory,    // Pointers.
        kLivePages,  // The same two of those in pages, whose keys are the first serials.
        kHistoryPages,
        kChildren,  // What is said to be part of a run.
    };
    // The keys of one kind, newest first, a page at a time. A page comes out of a window of serials,
    // which widens while little is found: etcd walks the whole index of a range for every read of
    // it, whatever the limit.
    struct Source {
        SourceKind kind{};
        Kin kin{};
        Serial from = 0;
        Serial below = 0;  // 0: open.
        Serial top = 0;    // What the window is measured from while `below` is open.
        Serial window = kWindowMin;
        std::vector<Candidate> page;  // Newest last, so that it is taken from the end.
        bool ended = false;
    };

    Async<Result<std::vector<Source>>> Open(const ExecutionFilter& filter);
    static void AddSources(const ExecutionFilter& filter, const Source& like,
                           std::vector<Source>& sources);
    Async<Result<void>> Fill(Source& source, const ExecutionFilter& filter);
    Async<Result<Rows>> ReadWindow(Source& source, const ExecutionFilter& filter,
                                   std::size_t rows_max);
    KeyRange RangeOf(const Source& source, const ExecutionFilter& filter, Serial lower) const;
    // The candidates of a page's keys that the filter may want.
    Async<Result<std::vector<Candidate>>> ReadPage(const Source& source,
                                                   const ExecutionFilter& filter, Rows rows);
    // One for each: what is there, live or finished; one with neither row nor pointer if nothing is.
    Async<Result<std::vector<Candidate>>> ReadSpots(std::vector<Spot> spots);
    // Looks in pages for those that were not found under keys of their own.
    Async<Result<void>> ReadPagesOf(const std::vector<Spot>& spots,
                                    std::vector<Candidate>& candidates);
    // The newest candidate of all sources that the filter may want.
    Async<Result<std::optional<Candidate>>> Next(std::vector<Source>& sources,
                                                 const ExecutionFilter& filter);
    // Turns pointers into rows.
    Async<Result<void>> Resolve(std::vector<Candidate>& candidates);
    void TakeFromPack(Candidate& candidate) const;
    // Puts payloads that are kept apart back into the rows.
    Async<Result<void>> Complete(std::vector<Candidate>& candidates);
    Async<Result<void>> ReadPacks(std::vector<std::string> packs);
    // Completes them, unless the rows are to be brief, until the page is full.
    Async<Result<void>> AddTo(ListPage& page, std::vector<Candidate> candidates, bool brief);
    std::string PackOf(const Candidate& candidate) const {
        return PackKey(keys_, partition_, candidate.pointer->pack, candidate.pointer->run);
    }
    static Candidate FromKey(bool live, const pb::KeyValue& kv);
    static Candidate FromValue(bool live, ExecutionKey key, const std::string& value);
    // Rows of a page whose serials are in the filter's range, newest first.
    static void AddFromPage(bool live, const pb::KeyValue& kv, const ExecutionFilter& filter,
                            std::vector<Candidate>& candidates);

    using PackRows = Result<std::vector<std::string>>;

    const Keys& keys_;
    const Partition partition_;
    Snapshot snapshot_;
    std::map<std::string, PackRows> packs_;  // Read so far, by key.
};

}  // namespace takt::internal::etcd
