// Checkup: what was looked at, how it is, and what to do next. For takt doctor and takt serve --check.
#pragma once

#include <string>
#include <vector>

namespace takt::internal::cli {

// Of one kind of trouble; the rest is counted.
constexpr std::size_t kCheckupLines = 10;

class Checkup {
  public:
    void Ok(std::string what, std::string said) { Add("ok", what, said, {}); }
    void Warn(std::string what, std::string said, std::string next) {
        Add("warn", what, said, next);
    }
    void Bad(std::string what, std::string said, std::string next) { Add("bad", what, said, next); }
    std::size_t size() const { return lines_.size(); }

    // The lines as a table or as JSON. The exit code: kFailed if one is bad.
    int Print(bool json) const;

  private:
    struct Line {
        std::string status, what, said, next;
    };
    void Add(const char* status, std::string& what, std::string& said, std::string next);

    std::vector<Line> lines_;
};

}  // namespace takt::internal::cli
