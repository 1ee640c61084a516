#include "definitions/sql_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

namespace takt::internal {
namespace {

std::string UpperCase(std::string_view text) {
    std::string upper;
    for (const char c : text) {
        upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return upper;
}

class SqlScanner {
  public:
    explicit SqlScanner(std::string_view text) : text_(text) {}

    bool AtEnd() {
        SkipSpace();
        return at_ >= text_.size();
    }
    int line() const { return line_; }

    bool Take(char sign) {
        SkipSpace();
        if (at_ >= text_.size() || text_[at_] != sign) return false;
        ++at_;
        return true;
    }
    bool Sees(char sign) {
        SkipSpace();
        return at_ < text_.size() && text_[at_] == sign;
    }

    // Whether the next word is this one, whatever its case; if so it is taken.
    bool TakeWord(std::string_view word) {
        SkipSpace();
        if (UpperCase(text_.substr(at_, word.size())) != word) return false;
        if (at_ + word.size() < text_.size() && IsWordCharacter(text_[at_ + word.size()])) {
            return false;
        }
        at_ += word.size();
        return true;
    }

    // `name`, "name" or name; of a.b the last.
    std::string TakeName() {
        std::string name;
        do {
            SkipSpace();
            if (at_ < text_.size() && (text_[at_] == '`' || text_[at_] == '"')) {
                name = TakeQuoted();
            } else {
                name.clear();
                while (at_ < text_.size() && IsWordCharacter(text_[at_])) name += text_[at_++];
            }
        } while (Take('.'));
        return name;
    }

    // A value of a row; nothing for NULL.
    std::optional<std::string> TakeValue() {
        SkipSpace();
        if (TakeWord("NULL")) return std::nullopt;
        // _binary 'x', _utf8mb4 'x'
        if (at_ < text_.size() && text_[at_] == '_') TakeName();
        SkipSpace();
        if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) return TakeQuoted();
        // A number, or what the server is to work out: now().
        const std::size_t begin = at_;
        SkipItem();
        std::string word(text_.substr(begin, at_ - begin));
        while (!word.empty() && std::isspace(static_cast<unsigned char>(word.back())))
            word.pop_back();
        return word;
    }

    // To the comma or bracket that ends what is being read, over everything in brackets.
    void SkipItem() {
        int depth = 0;
        while (!AtEnd()) {
            const char c = text_[at_];
            if (c == '\'' || c == '"' || c == '`') {
                TakeQuoted();
                continue;
            }
            if (depth == 0 && (c == ',' || c == ')' || c == ';')) return;
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            ++at_;
        }
    }

    // Returns whether there was an end, and not only that of the file.
    bool SkipStatement() {
        while (!AtEnd()) {
            const char c = text_[at_];
            if (c == '\'' || c == '"' || c == '`') {
                TakeQuoted();
                continue;
            }
            ++at_;
            if (c == ';') return true;
        }
        return false;
    }

  private:
    static bool IsWordCharacter(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
    }

    // Spaces and comments; what stands in /*!40101 … */ is for servers of one kind, and no row.
    void SkipSpace() {
        while (at_ < text_.size()) {
            const std::string_view rest = text_.substr(at_);
            if (std::isspace(static_cast<unsigned char>(rest.front()))) {
                Pass(1);
            } else if (rest.starts_with("--") || rest.starts_with('#')) {
                Pass(std::min(rest.find('\n'), rest.size()));
            } else if (rest.starts_with("/*")) {
                const std::size_t end = rest.find("*/");
                Pass(end == std::string_view::npos ? rest.size() : end + 2);
            } else {
                return;
            }
        }
    }

    void Pass(std::size_t count) {
        for (; count > 0; --count) line_ += text_[at_++] == '\n';
    }

    static char Unescaped(char c) {
        switch (c) {
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case '0':
                return '\0';
            case 'Z':
                return '\x1a';
            default:
                return c;
        }
    }

    std::string TakeQuoted() {
        const char quote = text_[at_++];
        std::string text;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '\\' && quote != '`' && at_ + 1 < text_.size()) {
                text += Unescaped(text_[at_ + 1]);
                Pass(2);
            } else if (c != quote) {
                text += c;
                Pass(1);
            } else if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
                text += quote;
                at_ += 2;
            } else {
                ++at_;
                break;
            }
        }
        return text;
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
};

class SqlReader {
  public:
    explicit SqlReader(std::string_view text) : scan_(text) {}

    SqlTables Read() {
        while (!scan_.AtEnd()) {
            SqlTable* to = nullptr;
            if (scan_.TakeWord("CREATE") && scan_.TakeWord("TABLE")) {
                Create();
            } else if (scan_.TakeWord("INSERT") || scan_.TakeWord("REPLACE")) {
                to = Insert();
            }
            const int line = scan_.line();
            if (!scan_.SkipStatement() && to) {
                to->mistakes.push_back(
                    {line, "the dump ends, or was cut, before the ';' of these rows"});
            }
        }
        return std::move(tables_);
    }

  private:
    static bool IsKeyLine(const std::string& word) {
        static constexpr std::array<std::string_view, 7> kWords = {
            "PRIMARY", "KEY", "UNIQUE", "CONSTRAINT", "INDEX", "FULLTEXT", "FOREIGN"};
        return std::ranges::find(kWords, UpperCase(word)) != kWords.end();
    }

    void Create() {
        if (scan_.TakeWord("IF")) {
            scan_.TakeWord("NOT");
            scan_.TakeWord("EXISTS");
        }
        std::vector<std::string>& columns = columns_[scan_.TakeName()];
        columns.clear();
        if (!scan_.Take('(')) return;
        do {
            const bool quoted = scan_.Sees('`');
            std::string name = scan_.TakeName();
            if (quoted || !IsKeyLine(name)) columns.push_back(std::move(name));
            scan_.SkipItem();
        } while (scan_.Take(','));
    }

    // The table whose rows were read to the last; null if there is none, or a mistake is noted.
    SqlTable* Insert() {
        scan_.TakeWord("IGNORE");
        if (!scan_.TakeWord("INTO")) return nullptr;
        const std::string table = scan_.TakeName();
        SqlTable& to = tables_[table];
        int line = scan_.line();
        const auto wrong = [&](const char* why) -> SqlTable* {
            to.mistakes.push_back({line, why});
            return nullptr;
        };
        std::vector<std::string> columns = columns_[table];
        if (scan_.Take('(')) {
            columns.clear();
            do columns.push_back(scan_.TakeName());
            while (scan_.Take(','));
            if (!scan_.Take(')')) return wrong("the dump ends, or was cut, in a list of columns");
        }
        if (!scan_.TakeWord("VALUES")) return wrong("VALUES and rows are expected here");
        do {
            const bool begins = scan_.Sees('(');
            line = scan_.line();
            SqlRow row{.line = line};
            if (!begins) return wrong("a row is expected here");
            scan_.Take('(');
            if (columns.empty()) {
                return wrong(
                    "these rows do not say what their columns are: dump them with the tables "
                    "(without --no-create-info) or with --complete-insert");
            }
            std::size_t at = 0;
            do {
                auto value = scan_.TakeValue();
                if (value && at < columns.size()) row.values[columns[at]] = std::move(*value);
                ++at;
            } while (scan_.Take(','));
            if (!scan_.Take(')')) return wrong("the dump ends, or was cut, in the middle of a row");
            to.rows.push_back(std::move(row));
        } while (scan_.Take(','));
        return &to;
    }

    SqlScanner scan_;
    std::map<std::string, std::vector<std::string>> columns_;  // By table.
    SqlTables tables_;
};

}  // namespace

SqlTables ReadSqlRows(const std::string& text) {
    return SqlReader(text).Read();
}

}  // namespace takt::internal
