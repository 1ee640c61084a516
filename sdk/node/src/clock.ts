// The clock of leases and locks, in milliseconds. It goes on while the machine is suspended, as the scheduler's does:
// performance.now() stands still meanwhile, and what has been given to others since would be taken for one's own.
import os from "node:os";

// Some versions of Node tell the uptime in whole seconds.
const UPTIME_STEP = 1_000;

let suspended = 0;
let apart = os.uptime() * 1_000 - performance.now(); // The most that the two were since the last suspension.

export function now(): number {
  const steady = performance.now();
  const found = os.uptime() * 1_000 - steady;
  if (found > apart + UPTIME_STEP) suspended += found - apart;
  apart = Math.max(apart, found);
  return steady + suspended;
}
