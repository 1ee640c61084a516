// Values as literals of SQL. The only way in which anything that a user chose gets into a
// statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace takt::internal::mysql {

// Appends `bytes` as a literal. Ascii is a string of the connection's character set, so that the
// indexes of text columns serve it; anything else is binary, taken and compared byte by byte.
void AppendText(std::string& to, std::string_view bytes);
void AppendBinary(std::string& to, std::string_view bytes);
void AppendInt(std::string& to, std::int64_t number);
void AppendUnsigned(std::string& to, std::uint64_t number);

inline std::string TextLiteral(std::string_view bytes) {
    std::string text;
    AppendText(text, bytes);
    return text;
}

// A list of values, with commas between them; what src/store/sql binds rows to.
class Values {
  public:
    explicit Values(std::string& to) : to_(to) {}

    void Int(std::int64_t number) { AppendInt(Next(), number); }
    void Text(std::string_view text) { AppendText(Next(), text); }
    void Blob(std::string_view bytes) { AppendBinary(Next(), bytes); }
    void Null() { Next() += "NULL"; }
    // Until the next call; values are written at once.
    std::string_view Keep(std::string bytes) { return kept_ = std::move(bytes); }

  private:
    std::string& Next() {
        if (!first_) to_ += ',';
        first_ = false;
        return to_;
    }

    std::string& to_;
    std::string kept_;
    bool first_ = true;
};

// Many rows of values, which can be looked at by column before they are written.
class Grid {
  public:
    explicit Grid(std::size_t columns) : columns_(columns) {}

    // The next value of the row; rows follow each other.
    void Int(std::int64_t number) { AppendInt(text_, number), End(); }
    void Text(std::string_view text) { AppendText(text_, text), End(); }
    void Blob(std::string_view bytes) { AppendBinary(text_, bytes), End(); }
    void Null() { text_ += "NULL", End(); }
    std::string_view Keep(std::string bytes) { return kept_ = std::move(bytes); }

    std::size_t rows() const { return ends_.size() / columns_; }
    std::size_t columns() const { return columns_; }
    std::size_t bytes() const { return text_.size(); }
    std::string_view At(std::size_t row, std::size_t column) const;
    // Whether all rows have the same value there. REQUIRES: rows() > 0.
    bool IsSame(std::size_t column) const;
    void Clear() { text_.clear(), ends_.clear(); }

  protected:
    void End() { ends_.push_back(text_.size()); }

    std::string text_;

  private:
    const std::size_t columns_;
    std::vector<std::size_t> ends_;  // Of each value in text_.
    std::string kept_;
};

// The same as values of JSON: bytes as hexadecimal digits, and nothing for no value. A text must be
// one that both JSON and a literal hold as it is (IsPlainJson).
class JsonGrid : public Grid {
  public:
    using Grid::Grid;

    void Int(std::int64_t number) { AppendInt(text_, number), End(); }
    void Text(std::string_view text);
    void Blob(std::string_view bytes);
    void Null() { text_ += "\"\"", End(); }
};
bool IsPlainJson(std::string_view text);

}  // namespace takt::internal::mysql
