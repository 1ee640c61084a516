// The conformance suite: what every backend must do, as tests that know only the Store interface.
//
// A backend joins with one line in src/store/<backend>/conformance_test.cc, linked with the CMake
// target store_conformance:
//
//   INSTANTIATE_TEST_SUITE_P(Embedded, StoreConformance, testing::Values(Backend{…}));
//
// A backend that cannot run here fails its tests; it is never skipped.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/conformance/rows.h"
#include "store/store.h"
#include "store/wait.h"

namespace takt::internal::conformance {

// One database of a backend, made for one test and empty at first.
class Database {
  public:
    virtual ~Database() = default;

    // A handle. The nodes of a test share one; a second one is another process's.
    virtual Result<std::unique_ptr<Store>> Open() = 0;

    // The database dies without warning while `store` is in use (a kill, a power cut: what was not
    // durable is gone), and comes back.
    virtual Result<std::unique_ptr<Store>> Crash(std::unique_ptr<Store> store) = 0;

    // Makes `time` pass for the ttls of the database. False if only waiting does that; the suite
    // then waits for the effect.
    virtual bool Advance(Duration time) { return false; }

    // Spoils the stored row of a live execution, as a bad disk or a newer version's record would. A
    // backend that keeps no encoded rows says so in Backend::encodes.
    virtual Result<void> Spoil(const Execution& row) {
        return Fail(ErrorCode::kInvalid, "this backend does not know how to spoil a row");
    }
};

struct Backend {
    std::string name;
    std::function<Result<std::unique_ptr<Database>>()> create;
    std::size_t load_page_rows = 1000;  // More live rows than this take more than one Load page.
    Duration ttl_min{1000};             // The shortest ttl that the backend honours.
    bool encodes = true;                // Whether there are encoded rows that can be spoilt.
    bool handles_many = true;           // Whether several processes may use the database at once.
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
    *out << backend.name;
}

// Far above what any operation takes on a loaded machine: reaching it means that no answer comes.
constexpr std::chrono::seconds kAnswerMax{30};

// Starts an operation, waits for its answer and holds it to the rules of answering.
template <typename T>
Result<T> Await(const std::function<void(Done<T>)>& begin) {
    struct Call {
        std::atomic<bool> returned = false;
        std::thread::id thread = std::this_thread::get_id();
    };
    const auto call = std::make_shared<Call>();
    // A store that answers a second time gets an exception out of `done`.
    auto answer = BeginAsk<T>([&](Done<T> done) {
        begin([call, done = std::move(done)](Result<T> result) mutable {
            if (!call->returned && call->thread == std::this_thread::get_id()) {
                ADD_FAILURE() << "Done was called from inside the operation";
            }
            done(std::move(result));
        });
        call->returned = true;
    });
    if (answer.wait_for(kAnswerMax) != std::future_status::ready) {
        ADD_FAILURE() << "no answer within " << kAnswerMax.count() << " s";
        return Fail(ErrorCode::kUnknown, "no answer");
    }
    return answer.get();
}

struct Loaded : LoadPage {
    std::size_t pages = 0;
};

class StoreConformance : public testing::TestWithParam<Backend> {
  protected:
    static constexpr Duration kLong{3'600'000};  // A ttl that does not run out during a test.

    void SetUp() override;

    Store& store() { return *store_; }
    void Reopen();
    void Crash();
    // Waits until a ttl of ttl_min, given before the call, has run out for sure.
    void LetTtlRunOut();

    Result<void> Announce(std::string_view node, Duration ttl = kLong);
    std::vector<LeaderRow> Leaders();
    // The last term of a partition, as Leaders tells it.
    std::optional<LeaderRow> LastTerm(Partition partition = 0);
    // Who leads it, or nothing.
    std::optional<LeaderRow> Leader(Partition partition = 0);
    Result<Term> Acquire(const Candidate& candidate);
    // Announces the node, reads and acquires, as a scheduler does.
    Result<Term> Acquire(std::string_view node, Duration ttl = kLong, std::uint64_t floor = 0,
                         Partition partition = 0);
    Result<void> Resign(const Term& term, std::string_view successor = {});
    Result<void> Commit(const Term& term, std::uint64_t sequence, std::vector<Change> changes,
                        Serial last_serial = 0);

    // Commits in the test's own term, which begins with the first call, cut to the store's limits.
    void Put(std::vector<Change> changes) { PutIn(kDefaultPartition, make_, std::move(changes)); }
    // The same in another partition, whose rows `make` makes.
    void PutIn(Partition partition, const RowMaker& make, std::vector<Change> changes);
    void Insert(const Execution& row);  // none → live
    Term& term(Partition partition = kDefaultPartition) { return led(partition).term; }
    std::uint64_t NextSequence() { return ++led(kDefaultPartition).sequence; }
    void ResignIn(Partition partition);

    std::optional<Execution> Find(const ExecutionId& id, Partition partition = kDefaultPartition);
    std::vector<Execution> List(const ExecutionFilter& filter);
    std::vector<std::string> ListIds(const ExecutionFilter& filter);
    // All pages as one. Checks that they come in the order that LoadPage promises.
    Loaded LoadAll(Partition partition = kDefaultPartition);

    RowMaker make_;

  private:
    // The test's own term of a partition.
    struct Led {
        Term term;
        std::uint64_t sequence = 0;
    };
    Led& led(Partition partition);

    std::unique_ptr<Database> database_;
    std::unique_ptr<Store> store_;
    std::map<Partition, Led> led_;

  protected:
    Database& database() { return *database_; }
};

}  // namespace takt::internal::conformance
