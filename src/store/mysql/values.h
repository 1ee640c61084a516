// Values as literals of SQL. The only way in which anything that a user chose gets into a
// statement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace takt::mysql {

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

}  // namespace takt::mysql
