#include "store/patient_store.h"

#include <utility>

#include "base/log.h"
#include "store/call_store.h"
#include "store/operation_queue.h"

namespace takt::internal {

// Refuses everything, with why the store cannot be opened.
class PatientStore::Away final : public CallStore<Away> {
  public:
    explicit Away(Error why) : why_(std::move(why)) {
        thread_ = std::jthread([this] {
            while (auto operation = refusals_.Pop()) (*operation)(this, nullptr);
        });
    }
    ~Away() override {
        refusals_.Close();
        thread_.join();
    }

    void Set(Error why) {
        const std::lock_guard lock(mutex_);
        why_ = std::move(why);
    }

    // Nobody leads, and so nobody commits, before the store is open.
    StoreLimits limits() const override { return {}; }
    std::string Describe() const override { return {}; }
    void Commit(BatchPtr, Done<void> done) override { Refuse(std::move(done)); }
    void DropPartition(Partition, std::uint64_t, Done<void> done) override {
        Refuse(std::move(done));
    }
    template <typename Part, typename T, typename Work>
    void Call(Part, Work, Done<T> done) {
        Refuse(std::move(done));
    }

  private:
    template <typename T>
    void Refuse(Done<T> done) {
        refusals_.Push(MakeOperation<Away, T>(
            [](Away& away) -> Result<T> {
                const std::lock_guard lock(away.mutex_);
                // An operator may put right any moment what is wrong there.
                return Fail(ErrorCode::kUnavailable, away.why_.detail);
            },
            std::move(done)));
    }

    std::mutex mutex_;
    Error why_;
    OperationQueue<Away> refusals_;
    std::jthread thread_;
};

PatientStore::PatientStore(std::string name, Open open, Duration interval)
    : StoreWrapper(nullptr),
      name_(std::move(name)),
      open_(std::move(open)),
      interval_(interval),
      away_(std::make_unique<Away>(
          Error{ErrorCode::kUnavailable, name_ + " has not answered yet", {}})) {
    SetInner(away_.get());
    thread_ = std::jthread([this](const std::stop_token& stop) { OpenAgain(stop); });
}

PatientStore::~PatientStore() {
    thread_.request_stop();
    thread_.join();
}

Result<void> PatientStore::AwaitFirst(Duration patience) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [this] { return first_.has_value(); })) {
        Log(LogLevel::kWarning, "store", "the store does not answer yet; Takt goes on waiting",
            {{"store", name_}});
        return {};
    }
    return *first_;
}

void PatientStore::EndFirst(Result<void> how) {
    {
        const std::lock_guard lock(mutex_);
        first_ = std::move(how);
    }
    changed_.notify_all();
}

Result<void> PatientStore::TryOpen() {
    Result<std::unique_ptr<Store>> opened = open_();
    if (!opened) {
        away_->Set(opened.error());
        return std::unexpected(std::move(opened.error()));
    }
    opened_ = std::move(*opened);
    SetInner(opened_.get());
    counted_ = opened_.get();
    return {};
}

void PatientStore::OpenAgain(const std::stop_token& stop) {
    Result<void> how = TryOpen();
    EndFirst(how);
    std::string said;
    // What can never succeed as asked, a wrong password for example, may be given up at once by who
    // waits for the first attempt; then nobody goes on trying.
    bool given_up = !how && how.error().code != ErrorCode::kUnavailable;
    while (!how) {
        // Once for each reason: a database may be away for a weekend.
        if (!std::exchange(given_up, false) && said != how.error().detail) {
            said = how.error().detail;
            Log(LogLevel::kWarning, "store", "the store cannot be used yet; Takt goes on trying",
                {{"store", name_}, {"error", said}});
        }
        {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, stop, interval_, [] { return false; });
        }
        if (stop.stop_requested()) return;
        how = TryOpen();
    }
    if (said.empty()) return;
    Log(LogLevel::kInfo, "store", "the store is open now", {{"store", Describe()}});
}

std::string PatientStore::Describe() const {
    const std::string name = StoreWrapper::Describe();
    return name.empty() ? name_ : name;
}

}  // namespace takt::internal
