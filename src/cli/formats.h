// Formats: -o table (or text), wide, json or yaml, for every command that prints a list or a thing.
//
// A command knows two: text for people and the API's JSON. Wide is text with more columns, YAML is
// made of each line of JSON as it is printed.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace takt::internal::cli {

// The command takes -o; json and yaml set `json`. A command or a part of it that has an -o of its own
// keeps that. Both live as long as the program.
void RegisterFormats(CLI::App& command, bool& json);

// For a command with an -o of its own that means one of these.
void UseFormat(const std::string& format, bool& json);

// REQUIRES: all commands are there, with their own flags.
void AddFormatFlags();

// From now on standard output is itself again; whether -o yaml had made it otherwise. kUnavailable if
// not all of it could be written; that nobody reads it any more is no error.
Result<bool> EndYaml();

// Whether tables have their further columns.
bool IsWide();

// Lines of JSON as YAML documents, lines of words as they are.
class YamlLines {
  public:
    // Of the lines that end in `piece`; the rest is kept for the next.
    std::string Convert(std::string_view piece);
    // The rest that is kept, as a line that ends here.
    std::string End();

  private:
    std::string line_;
    bool first_ = true;
};

// Text that is printed to standard output goes to `take` as long as this lives. They nest.
class OutputRedirect {
  public:
    // False: it could not be written, which whoever prints is told.
    using Take = std::function<bool(std::string_view piece)>;

    // With `hints` what goes to standard error too.
    explicit OutputRedirect(Take take, bool hints = false);
    ~OutputRedirect();
    OutputRedirect(const OutputRedirect&) = delete;
    OutputRedirect& operator=(const OutputRedirect&) = delete;

  private:
    Take take_;
    std::FILE* const output_before_;
    std::FILE* const errors_before_;
    std::FILE* stream_;
};

}  // namespace takt::internal::cli
