// Text for people: aligned tables, colour on a terminal only, values of the API as short text.
//
// Names and messages come from strangers. Control characters in them are shown as '?', so that a
// task's name cannot move the cursor or colour the rest of the screen.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace takt::internal::cli {

// Whether standard output is a terminal that wants colour: not with NO_COLOR or TERM=dumb.
bool UseColour();

enum class Colour : std::uint8_t { kNone, kRed, kGreen, kYellow, kBlue, kDim, kBold };
std::string Paint(std::string_view text, Colour colour);

// Of an execution's or a worker's state.
Colour ColourOf(std::string_view status);

// Columns on a terminal: wide East Asian characters take two.
std::size_t DisplayWidth(std::string_view text);

// Without control characters, cut to `width_max` columns with an ellipsis.
std::string Clean(std::string_view text, std::size_t width_max = 200);

struct Cell {
    std::string text;
    Colour colour = Colour::kNone;

    Cell(std::string value, Colour paint = Colour::kNone)  // NOLINT: implicit, rows are lists.
        : text(std::move(value)), colour(paint) {}
    Cell(const char* value) : text(value) {}  // NOLINT
};

class Table {
  public:
    // The second part is shown with -o wide only.
    explicit Table(std::vector<std::string> heads, const std::vector<std::string>& wide = {});
    void Add(std::vector<Cell> row, const std::vector<Cell>& wide = {});
    // A column that is left out if there is nothing in it.
    Table& Optional(const std::string& head);
    bool empty() const { return rows_.empty(); }
    // Lines with newlines; the last column is not padded.
    std::string Text() const;
    void Print() const;

  private:
    bool IsLeftOut(std::size_t column) const;

    std::size_t wide_from_;
    std::vector<std::string> heads_;
    std::vector<std::string> optional_;
    std::vector<std::vector<Cell>> rows_;
};

// A member of a JSON object as text: a string's content, JSON for other values, "" for null and for
// what is not there.
std::string Member(const boost::json::value& value, std::string_view name);
double NumberMember(const boost::json::value& value, std::string_view name);
const boost::json::value* FindMember(const boost::json::value& value, std::string_view name);
// A list member's values; empty if there is none.
std::vector<const boost::json::value*> ListMember(const boost::json::value& value,
                                                  std::string_view name);

// "2026-11-15T03:46:17.648Z" as "2026-11-15 03:46:17"; "-" for nothing.
std::string ShortTime(std::string_view time);
// The same with milliseconds if it has some.
std::string ExactTime(std::string_view time);
// "0.4s", "12.3s", "10m34s", "2h5m", "3d4h".
std::string ShortDuration(double seconds);
// How long from one to the other; "-" unless both are there.
std::string TimeBetween(std::string_view from, std::string_view to);

// Name, value; one per line.
std::string Fields(const std::vector<std::pair<std::string, Cell>>& fields);
// The same of every member of an object that has a value.
std::string ObjectText(const boost::json::value& object);

}  // namespace takt::internal::cli
