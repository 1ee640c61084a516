package main

import (
	"math"
	"slices"
	"strconv"
	"sync"
)

// expected is what must arrive, exactly once each. Handlers of several goroutines tell it.
type expected struct {
	guard     sync.Mutex
	from      int
	seen      []bool
	started   int
	ended     int
	twice     int
	stray     int
	latencies []float64
	over      chan struct{} // Closed when all have ended.
}

func newExpected(from, count int) *expected {
	return &expected{from: from, seen: make([]bool, count), over: make(chan struct{})}
}

func (e *expected) start(payload string) {
	at := now()
	number, err := strconv.Atoi(payload[:numberDigits])
	if err != nil {
		number = -1
	}
	sent, err := strconv.ParseInt(payload[numberDigits:numberDigits+sentDigits], 10, 64)
	if err != nil {
		number = -1
	}
	e.guard.Lock()
	defer e.guard.Unlock()
	if sent > 0 {
		e.latencies = append(e.latencies, at*1e3-float64(sent)/1e3)
	}
	index := number - e.from
	switch {
	case index < 0 || index >= len(e.seen):
		e.stray++
	case e.seen[index]:
		e.twice++
	default:
		e.seen[index] = true
		e.started++
	}
}

func (e *expected) end(count int) {
	e.guard.Lock()
	defer e.guard.Unlock()
	before := e.ended
	e.ended += count
	if before < len(e.seen) && e.ended >= len(e.seen) {
		close(e.over)
	}
}

func (e *expected) report() answer {
	e.guard.Lock()
	defer e.guard.Unlock()
	found := answer{"distinct": e.started, "ended": e.ended, "twice": e.twice, "stray": e.stray}
	if count := len(e.latencies); count > 0 {
		sorted := slices.Sorted(slices.Values(e.latencies))
		percentile := func(fraction float64) float64 {
			return sorted[max(0, int(math.Ceil(fraction*float64(count)))-1)]
		}
		found["latency_ms"] = answer{
			"tasks": count, "p50": percentile(0.5), "p99": percentile(0.99), "max": sorted[count-1],
		}
	}
	return found
}
