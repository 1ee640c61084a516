// crontab(5) as definitions.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/json.h"
#include "definitions/import.h"
#include "model/cron.h"

namespace takt::internal {
namespace {

using Grade = ImportNote::Grade;

bool IsBlank(char c) {
    return c == ' ' || c == '\t';
}

std::string_view SkipBlanks(std::string_view text) {
    while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
    return text;
}

std::string_view Trim(std::string_view text) {
    text = SkipBlanks(text);
    while (!text.empty() && (IsBlank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

// The next word; `text` is what follows it.
std::string_view TakeWord(std::string_view& text) {
    text = SkipBlanks(text);
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text = SkipBlanks(text.substr(end));
    return word;
}

std::string Unquoted(std::string_view text) {
    text = Trim(text);
    const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                        text.front() == text.back();
    return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

// 'it'\''s'
std::string ShellQuoted(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

struct Variable {
    std::string name;
    std::string value;
};

std::optional<Variable> ReadVariable(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    Variable variable{Unquoted(line.substr(0, equals)), Unquoted(line.substr(equals + 1))};
    const bool named =
        !variable.name.empty() && !std::isdigit(static_cast<unsigned char>(variable.name[0])) &&
        std::ranges::all_of(variable.name,
                            [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    return named ? std::optional(std::move(variable)) : std::nullopt;
}

// The first unescaped % ends the command; what follows is its input, each further one a new line.
struct CronCommand {
    std::string command;
    std::optional<std::string> input;
};

CronCommand SplitCommand(std::string_view text) {
    CronCommand split;
    for (std::size_t at = 0; at < text.size(); ++at) {
        std::string& to = split.input ? *split.input : split.command;
        if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '%') {
            to += '%';
            ++at;
        } else if (text[at] != '%') {
            to += text[at];
        } else if (split.input) {
            to += '\n';
        } else {
            split.input.emplace();
        }
    }
    return split;
}

// The program that a command is about, for its id: the last part of the path of the first word that
// is neither an assignment nor one that only starts others.
std::string ProgramOf(std::string_view command) {
    static constexpr std::array<std::string_view, 18> kStarters = {
        "cd", "exec",  "nice", "ionice", "sudo", "env",   "test",    "root",    "sleep",
        "[",  "flock", "time", "bash",   "sh",   "nohup", "timeout", "chronic", "setsid"};
    std::string last;
    while (!command.empty()) {
        std::string_view word = TakeWord(command);
        if (word.find('=') != std::string_view::npos || word.starts_with('-')) continue;
        const std::size_t slash = word.find_last_of('/');
        std::string name(slash == std::string_view::npos ? word : word.substr(slash + 1));
        while (!name.empty() && !std::isalnum(static_cast<unsigned char>(name.back()))) {
            name.pop_back();
        }
        const bool number = name.find_first_not_of("0123456789") == std::string::npos;
        if (name.empty() || number) continue;
        if (std::ranges::find(kStarters, name) != kStarters.end()) {
            // A file that is tested or a folder is no program: on to the next command of the line.
            if (name == "flock") {
                while (!command.empty() && TakeWord(command).starts_with('-')) continue;
                continue;
            }
            const bool argued = name == "cd" || name == "test" || name == "[";
            const std::size_t next = argued ? command.find_first_of("&|;") : 0;
            if (next == std::string_view::npos) break;
            command.remove_prefix(next);
            continue;
        }
        last = name;
        break;
    }
    for (const std::string_view ending : {".sh", ".py", ".pl", ".rb", ".php"}) {
        if (last.ends_with(ending)) last.resize(last.size() - ending.size());
    }
    return last;
}

class CrontabReader {
  public:
    explicit CrontabReader(const CrontabOptions& options)
        : options_(options), zone_(options.timezone) {}

    void Read(int line, std::string_view text) {
        line_ = line;
        text = Trim(text);
        if (text.empty() || text.front() == '#') return;
        if (auto variable = ReadVariable(text)) return Set(std::move(*variable));
        Entry(text);
    }

    Imported Take() { return std::move(imported_); }

  private:
    void Note(Grade grade, std::string text) { imported_.Note(line_, grade, std::move(text)); }

    void Set(Variable variable) {
        const std::string& name = variable.name;
        const std::string& value = variable.value;
        if (name == "CRON_TZ") {
            zone_ = value;
            return Note(Grade::kTaken, "the zone of what follows is " + value);
        }
        if (name == "MAILTO" || name == "MAILFROM" || name == "CONTENT_TYPE") {
            if (value.empty()) return Note(Grade::kTaken, "no mail is sent");
            return Note(Grade::kPartly, name +
                                            ": output is kept with each execution, and not sent "
                                            "by mail; an alert rule tells of failures");
        }
        if (name == "RANDOM_DELAY") {
            std::from_chars(value.data(), value.data() + value.size(), delay_minutes_);
            return Note(Grade::kTaken, "what follows has a jitter of " + value + " minutes");
        }
        if (name == "SHELL") {
            shell_ = value;
            return Note(Grade::kTaken, "what follows is run by " + value);
        }
        std::erase_if(variables_, [&](const Variable& known) { return known.name == name; });
        Note(Grade::kTaken, name + " is set in each command that follows");
        variables_.push_back(std::move(variable));
    }

    void Entry(std::string_view text) {
        std::string expression;
        if (text.front() == '@') {
            expression = TakeWord(text);
        } else {
            for (int i = 0; i < 5 && !text.empty(); ++i) {
                if (i > 0) expression += ' ';
                expression += TakeWord(text);
            }
        }
        if (expression == "@reboot") {
            return Note(Grade::kLeft, "@reboot: a scheduler's start means nothing to a task");
        }
        const auto cron = Cron::Parse(expression, {.timezone = zone_});
        if (!cron) return Note(Grade::kLeft, expression + ": " + cron.error().detail);
        std::string user;
        if (options_.system) user = TakeWord(text);
        if (text.empty()) return Note(Grade::kLeft, "there is no command");
        const CronCommand split = SplitCommand(text);
        const std::string id = ids_.Make(ProgramOf(split.command));
        imported_.definitions.push_back(Definition(id, expression, user, Whole(split)));
        Note(BothDays(expression) ? Grade::kPartly : Grade::kTaken,
             "task " + id + ", " + cron->Describe() +
                 (user.empty() ? "" : ", on workers with --labels user=" + user) +
                 (BothDays(expression)
                      ? "; a day of month and a day of week: cron wants both to fit if one begins "
                        "with *, here either will do"
                      : ""));
    }

    // Vixie cron joins the two by "and" if one of them begins with a star, even with a step.
    static bool BothDays(std::string_view expression) {
        if (expression.starts_with('@')) return false;
        std::array<std::string_view, 5> fields;
        for (std::string_view& field : fields) field = TakeWord(expression);
        const auto stepped = [](std::string_view f) { return f.starts_with("*/") && f != "*/1"; };
        return (stepped(fields[2]) && fields[4] != "*") || (stepped(fields[4]) && fields[2] != "*");
    }

    // With the variables and the input that cron would have given it.
    std::string Whole(const CronCommand& split) const {
        std::string text;
        for (const Variable& variable : variables_) {
            text += "export " + variable.name + "=" + ShellQuoted(variable.value) + "\n";
            if (variable.name == "HOME") text += "cd \"$HOME\" || exit\n";
        }
        if (!split.input) return text + split.command;
        return text + "printf '%s\\n' " + ShellQuoted(*split.input) + " | {\n" + split.command +
               "\n}";
    }

    std::string Definition(const std::string& id, const std::string& expression,
                           const std::string& user, const std::string& command) const {
        std::string text;
        JsonWriter json(text);
        json.BeginObject().Field("kind", "task").Field("id", std::string_view(id));
        json.Field("name", std::string_view(id)).Field("type", std::string_view(options_.type));
        json.Field("cron_expression", std::string_view(expression));
        if (!zone_.empty() && zone_ != "UTC" && zone_ != "Etc/UTC")
            json.Field("timezone", std::string_view(zone_));
        if (delay_minutes_ > 0) {
            json.Field("jitter", std::string_view(std::to_string(delay_minutes_) + "m"));
        }
        json.Key("parameters").BeginObject();
        if (shell_.empty() || shell_ == "/bin/sh") {
            json.Field("command", std::string_view(command));
        } else {
            json.Key("argv").BeginArray().Value(std::string_view(shell_)).Value("-c");
            json.Value(std::string_view(command)).EndArray();
        }
        json.EndObject();
        if (!user.empty()) {
            json.Key("labels").BeginObject().Field("user", std::string_view(user)).EndObject();
        }
        // As cron does: side by side, nothing repeated, nothing made up for; no end is set to it
        // there, and one has to be here.
        json.Field("execution_mode", "parallel").Field("misfire_policy", "skip");
        json.Field("max_retry", 0).Field("timeout", "24h").EndObject();
        return text;
    }

    const CrontabOptions& options_;
    int line_ = 0;
    std::string zone_;
    std::string shell_;
    int delay_minutes_ = 0;
    std::vector<Variable> variables_;
    ImportIds ids_;
    Imported imported_;
};

}  // namespace

Imported ImportCrontab(const std::string& text, const CrontabOptions& options) {
    CrontabReader reader(options);
    std::string_view rest = text;
    for (int line = 1; !rest.empty(); ++line) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        reader.Read(line, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return reader.Take();
}

}  // namespace takt::internal
