// Rows for tests of stores: every field set to something of its own, so that one that is lost or
// swapped on the way to the database and back shows.
#pragma once

#include <string>
#include <string_view>

#include "model/change.h"

namespace takt::internal::conformance {

class RowMaker {
  public:
    explicit RowMaker(Partition partition = kDefaultPartition) : serials_(partition, 0) {}

    // A pending one-off execution; its task has the same id.
    Execution OneOff(std::string_view id);
    // A pending fire of a recurring task.
    Execution Fire(std::string_view task, std::string_view id);
    // A pending part of a run: of its task, with a place of its own in it.
    Execution Child(const Execution& run, std::string_view id);
    // A recurring task.
    TaskRow Recurring(std::string_view id, Text name = "report");
    Worker MakeWorker(std::string_view id);
    Event MakeEvent(EventType type);
    AuditRow MakeAudit(std::string_view body);

    // Times and serials of later rows are later by this.
    void Pass(Duration time) { now_ += time; }
    Time now() const { return now_; }
    Serial last_serial() const { return serials_.last(); }

  private:
    Time now_ = std::chrono::sys_days(std::chrono::year(2026) / 11 / 15);
    SerialSource serials_;
    std::uint32_t children_ = 0;
};

// The same execution one step on.
Execution Scheduled(Execution row, std::string_view worker);
Execution Running(Execution row);
Execution Retrying(Execution row);
Execution Finished(Execution row, Status status = Status::kSuccess);
Execution Redriven(Execution row);

// All fields in a readable form: equal texts are equal rows.
std::string Show(const Execution& row);
std::string Show(const TaskRow& row);
std::string Show(const Worker& row);
std::string Show(const Event& row);
std::string Show(const LogChunk& row);
std::string Show(const AuditRow& row);

}  // namespace takt::internal::conformance
