// All of Takt's C++ API. docs/cpp.md is the guide to it.
#pragma once

#include "takt/client.h"
#include "takt/error.h"
#include "takt/event.h"
#include "takt/execution.h"
#include "takt/executor.h"
#include "takt/fleet.h"
#include "takt/load_balancer.h"
#include "takt/log.h"
#include "takt/metrics.h"
#include "takt/scheduler.h"
#include "takt/scheduler_api.h"
#include "takt/strategy.h"
#include "takt/task.h"
#include "takt/time.h"
#include "takt/version.h"
#include "takt/worker.h"
