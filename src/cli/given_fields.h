// GivenFields: the fields of a request that were given on the command line, and how values that people
// write after flags become JSON.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace takt::internal::cli {

// Fields of a request, each under the name that answers use, with its value in JSON.
class GivenFields {
  public:
    void Set(std::string_view name, std::string json);  // In place of what it had.
    void SetText(std::string_view name, std::string_view text);
    // Its JSON; null if it was not given.
    const std::string* Find(std::string_view name) const;
    bool Has(std::string_view name) const { return Find(name) != nullptr; }
    bool empty() const { return fields_.empty(); }
    std::string Body() const;  // A JSON object.

  private:
    std::vector<std::pair<std::string, std::string>> fields_;
};

// expires_after: --expires-after
std::string FlagName(std::string_view field);

// A text, in JSON.
std::string Quoted(std::string_view text);
// JSON where it is some, else a text: its meaning is the server's to judge.
std::string JsonOrText(const std::string& given);
std::string NumberOrText(const std::string& given);
std::string ListJson(const std::vector<std::string>& values);

}  // namespace takt::internal::cli
