// Rows of tables from a dump in SQL, as mysqldump and its like write it: CREATE TABLE says which
// columns there are, INSERT INTO … VALUES the rows. All other statements are passed over.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace takt::internal {

struct SqlRow {
    int line = 0;
    std::map<std::string, std::string> values;  // By column; those that are NULL are left out.
};

struct SqlMistake {
    int line = 0;
    std::string detail;
};

struct SqlTable {
    std::vector<SqlRow> rows;
    std::vector<SqlMistake> mistakes;  // Rows that could not be read, and those behind them.
};

// By its name, without that of a database.
using SqlTables = std::map<std::string, SqlTable>;
SqlTables ReadSqlRows(const std::string& text);

}  // namespace takt::internal
