// The tables of XXL-JOB, from a dump in SQL or in JSON.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "definitions/import.h"
#include "definitions/sql_rows.h"

namespace takt::internal {

constexpr const char* kXxlJobTable = "xxl_job_info";

struct XxlTables {
    std::vector<SqlRow> jobs;
    std::map<std::string, std::string> groups;  // By id: the name of the executors.
};

// Columns are named as in the tables. What cannot be read is noted in `to`.
XxlTables ReadXxlTables(const std::string& text, Imported& to);

}  // namespace takt::internal
