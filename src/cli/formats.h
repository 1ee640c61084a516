// Formats: -o table, wide, json or yaml, for every command that prints a list or a thing.
//
// A command knows two: text for people and the API's JSON. Wide is text with more columns, YAML is
// made of the JSON when the command has ended.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace takt::internal::cli {

// The command takes -o; json and yaml set `json`. A command or a part of it that has an -o of its own
// keeps that. Both live as long as the program.
void RegisterFormats(CLI::App& command, bool& json);

// REQUIRES: all commands are there, with their own flags.
void AddFormatFlags();

// Prints as YAML what the command printed as JSON, if -o yaml asked for that; `done` anyway.
void FinishFormats();

// Whether tables have their further columns.
bool IsWide();

// Standard output goes into memory as long as this lives. One at a time.
class OutputCapture {
  public:
    // With `hints` what goes to standard error too.
    explicit OutputCapture(bool hints = false);
    ~OutputCapture();
    OutputCapture(const OutputCapture&) = delete;
    OutputCapture& operator=(const OutputCapture&) = delete;

    // Everything that was printed; gives standard output back.
    std::string Take();

  private:
    int memory_ = -1;
    int before_ = -1;
    int errors_before_ = -1;
};

}  // namespace takt::internal::cli
