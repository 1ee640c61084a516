// One side of a queue, producer or consumer, as a process of its own: host DRIVER. What host.mjs is
// for the queues of JavaScript, with the same commands and answers; it says what they mean.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// settings are those of the server's start in servers.py, and the side that this process is.
type settings struct {
	Port   int    `json:"port"`
	URL    string `json:"url"`
	Role   string `json:"role"`
	Atomic bool   `json:"atomic"` // Of NATS: batches that are written at once.
}

// A queue is what a driver opens. Producers call it from several goroutines at once.
type queue interface {
	// bulk is how many tasks enqueueBulk takes, and how many calls of it may be under way.
	bulk() (size, window int)
	// enqueueBulk and enqueueOne return when the server has accepted all.
	enqueueBulk(payloads []string) error
	enqueueOne(payload string) error
	// consume runs tasks from now on: start when the handler begins, end when some more are completed.
	consume(start func(payload string), end func(count int)) error
	// settled returns when the server knows of every completion.
	settled() error
}

type driver struct {
	module string // Its version is told with every result.
	open   func(settings) (queue, error)
}

var drivers = map[string]driver{
	"asynq": {"github.com/hibiken/asynq", openAsynq},
	"nats":  {"github.com/nats-io/nats.go", openNats},
	"river": {"github.com/riverqueue/river", openRiver},
}

type command struct {
	Do       string   `json:"do"`
	From     int      `json:"from"`
	Count    int      `json:"count"`
	Bytes    int      `json:"bytes"`
	Rate     float64  `json:"rate"`
	Settings settings `json:"settings"`
}

type answer map[string]any

// now is the machine's monotonic clock in seconds, which all processes share.
func now() float64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return float64(at.Sec) + float64(at.Nsec)/1e9
}

type host struct {
	driver   driver
	queue    queue
	expected *expected
	guard    sync.Mutex // Of expected, which handlers still look at when the next is made.
}

func (h *host) current() *expected {
	h.guard.Lock()
	defer h.guard.Unlock()
	return h.expected
}

func (h *host) run(c command) (answer, error) {
	switch c.Do {
	case "open":
		var err error
		h.queue, err = h.driver.open(c.Settings)
		return answer{"version": versionOf(h.driver.module)}, err
	case "bulk":
		return enqueueInBulk(h.queue, c)
	case "single":
		return enqueueOneByOne(h.queue, c)
	case "evenly":
		return enqueueEvenly(h.queue, c)
	case "expect":
		h.guard.Lock()
		defer h.guard.Unlock()
		h.expected = newExpected(c.From, c.Count)
		return answer{}, nil
	case "consume":
		begin := now()
		start := func(payload string) { h.current().start(payload) }
		end := func(count int) { h.current().end(count) }
		return answer{"begin": begin}, h.queue.consume(start, end)
	case "await_all":
		awaited := h.current()
		<-awaited.over
		if err := h.queue.settled(); err != nil {
			return nil, err
		}
		at := now()
		time.Sleep(200 * time.Millisecond) // Copies that a queue delivers by mistake come late.
		report := awaited.report()
		report["at"] = at
		return report, nil
	}
	return nil, fmt.Errorf("there is no command %q", c.Do)
}

func main() {
	found, ok := drivers[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "host: there is no driver %q\n", os.Args[1])
		os.Exit(2)
	}
	h := &host{driver: found, expected: newExpected(0, 0)}
	lines := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var c command
		err := json.Unmarshal(lines.Bytes(), &c)
		var said answer
		if err == nil {
			said, err = h.run(c)
		}
		if err != nil {
			said = answer{"error": err.Error()}
		} else if said["at"] == nil {
			said["at"] = now()
		}
		if err := answers.Encode(said); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
