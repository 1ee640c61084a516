// Where the SQL of our databases differs. Everything else is written once, in this folder.
#pragma once

#include <string>
#include <string_view>

namespace takt::internal::sql {

struct Dialect {
    // Before the name of every table.
    std::string_view table_prefix;
    // After a table's name: read it through this index, whatever the statistics say. Without a
    // name: in the order of its primary key.
    std::string (*use_index)(std::string_view index);
    // Whether the column's text contains the parameter, byte by byte.
    std::string (*contains)(std::string_view column);
};

inline constexpr Dialect kSqlite = {
    .table_prefix = "",
    .use_index =
        [](std::string_view index) {
            return index.empty() ? std::string(" NOT INDEXED")
                                 : " INDEXED BY " + std::string(index);
        },
    .contains = [](std::string_view column) { return "instr(" + std::string(column) + ", ?) > 0"; },
};

// `table_prefix` must outlive the dialect.
constexpr Dialect Mysql(std::string_view table_prefix) {
    return {
        .table_prefix = table_prefix,
        .use_index =
            [](std::string_view index) {
                return " FORCE INDEX (" + std::string(index.empty() ? "PRIMARY" : index) + ")";
            },
        .contains =
            [](std::string_view column) { return "INSTR(" + std::string(column) + ", ?) > 0"; },
    };
}

}  // namespace takt::internal::sql
