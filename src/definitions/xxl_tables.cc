#include "definitions/xxl_tables.h"

#include <utility>

#include "base/json_view.h"
#include "definitions/yaml_json.h"

namespace takt::internal {
namespace {

using Grade = ImportNote::Grade;

constexpr const char* kGroupTable = "xxl_job_group";

// jobDesc as job_desc: JSON that came from the admin's own API.
std::string SnakeCase(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c >= 'A' && c <= 'Z') {
            text += '_';
            text += static_cast<char>(c - 'A' + 'a');
        } else {
            text += c;
        }
    }
    // childJobId is child_jobid there, in the table.
    return text == "child_job_id" ? "child_jobid" : text;
}

SqlRow RowOf(const JsonView& object, int line) {
    SqlRow row{.line = line};
    JsonView::Members members(object);
    while (members.Next()) {
        const JsonView value = members.value();
        if (value.is_null()) continue;
        std::string scratch;
        row.values[SnakeCase(members.key())] =
            value.is_string() ? value.AsString(scratch) : value.raw();
    }
    return row;
}

// Versions before 2.2 call it appname.
std::string GroupName(const SqlRow& row) {
    for (const char* column : {"app_name", "appname"}) {
        if (const auto found = row.values.find(column); found != row.values.end()) {
            return found->second;
        }
    }
    return {};
}

bool IsJob(const SqlRow& row) {
    return row.values.contains("job_desc") || row.values.contains("executor_handler") ||
           row.values.contains("glue_type");
}

// Rows wherever they stand: at the top, or inside of an answer of the admin's API, which wraps the
// page that was asked for, from version 3 on twice, or of what a database tool puts around them.
void TakeRows(const JsonView& value, const std::string& place, const YamlDocument& document,
              XxlTables& tables) {
    if (value.kind() == JsonView::Kind::kArray) {
        JsonView::Elements elements(value);
        for (std::size_t at = 0; elements.Next(); ++at) {
            TakeRows(elements.value(), place + "[" + std::to_string(at) + "]", document, tables);
        }
        return;
    }
    if (value.kind() != JsonView::Kind::kObject) return;
    SqlRow row = RowOf(value, document.LineOf(place));
    if (const std::string name = GroupName(row); !name.empty()) {
        tables.groups[row.values["id"]] = name;
    } else if (IsJob(row)) {
        tables.jobs.push_back(std::move(row));
    } else {
        JsonView::Members members(value);
        while (members.Next()) {
            const std::string key(members.key());
            TakeRows(members.value(), place.empty() ? key : place + "." + key, document, tables);
        }
    }
}

XxlTables TablesOfJson(const std::string& text, Imported& to) {
    XxlTables tables;
    const YamlFile file = ReadYamlFile(text);
    for (const FileMistake& mistake : file.mistakes) {
        to.Note(mistake.line, Grade::kLeft, mistake.detail);
        to.unreadable = true;
    }
    for (const YamlDocument& document : file.documents) {
        TakeRows(JsonView(document.json), {}, document, tables);
    }
    return tables;
}

XxlTables TablesOfSql(const std::string& text, Imported& to) {
    XxlTables tables;
    SqlTables read = ReadSqlRows(text);
    for (const char* name : {kXxlJobTable, kGroupTable}) {
        for (const SqlMistake& mistake : read[name].mistakes) {
            to.Note(mistake.line, Grade::kLeft, std::string(name) + ": " + mistake.detail);
            to.unreadable = true;
        }
    }
    tables.jobs = std::move(read[kXxlJobTable].rows);
    for (SqlRow& row : read[kGroupTable].rows) tables.groups[row.values["id"]] = GroupName(row);
    return tables;
}

bool LooksLikeJson(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && (text[first] == '[' || text[first] == '{');
}

}  // namespace

XxlTables ReadXxlTables(const std::string& text, Imported& to) {
    return LooksLikeJson(text) ? TablesOfJson(text, to) : TablesOfSql(text, to);
}

}  // namespace takt::internal
