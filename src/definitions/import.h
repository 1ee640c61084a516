// Definitions made from what other schedulers keep, with a note for each line: what was understood,
// and what was not.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal {

struct ImportNote {
    enum class Grade : std::uint8_t {
        kTaken,   // Means the same here.
        kPartly,  // Became something, and a person should look at what did not.
        kLeft,    // Became nothing.
    };
    int line = 0;
    Grade grade{};
    std::string text;
};

struct Imported {
    std::vector<std::string> definitions;  // JSON, each with its kind.
    std::vector<ImportNote> notes;         // In the order of lines, those without one last.

    bool unreadable = false;  // It is no text of that kind; notes say where.

    bool complete() const;  // All of it means the same here.
    void Note(int line, ImportNote::Grade grade, std::string text);
};

// Ids that are valid and no two of which are the same.
class ImportIds {
  public:
    // As near to the wish as can be: "backup", "backup-2".
    std::string Make(std::string_view wish);

  private:
    std::set<std::string> taken_;
};

// crontab(5): of a user, or of the system, with a column for the user.
struct CrontabOptions {
    bool system = false;
    std::string timezone;  // That of the machine whose crontab it is; empty: UTC.
    std::string type = "shell";
};
Imported ImportCrontab(const std::string& text, const CrontabOptions& options);

// CronJobs of Kubernetes, YAML or JSON; documents of other kinds are passed over.
struct CronJobOptions {
    std::string type = "shell";
};
Imported ImportCronJobs(const std::string& text, const CronJobOptions& options);

// XXL-JOB: a dump of its tables in SQL, or rows of xxl_job_info in JSON.
struct XxlJobOptions {
    std::string timezone;  // Of the admin's machine; empty: UTC.
};
Imported ImportXxlJobs(const std::string& text, const XxlJobOptions& options);

// The expression of Quartz, whose week begins with 1 and whose ranges may run backwards.
std::string CronOfQuartz(std::string_view expression);

}  // namespace takt::internal
