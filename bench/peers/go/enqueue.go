package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

const (
	numberDigits = 10
	sentDigits   = 16 // Microseconds.
)

func payloadOf(number, bytes int, sentAt float64) string {
	head := fmt.Sprintf("%0*d%0*d", numberDigits, number, sentDigits, int64(math.Round(sentAt*1e6)))
	return head + strings.Repeat("x", max(0, bytes-len(head)))
}

func enqueueInBulk(q queue, c command) (answer, error) {
	begin := now()
	size, window := q.bulk()
	batches := make(chan int)
	failures := make([]error, window)
	var lanes sync.WaitGroup
	for lane := range window {
		lanes.Go(func() {
			for first := range batches {
				last := min(first+size, c.From+c.Count)
				payloads := make([]string, 0, last-first)
				for number := first; number < last; number++ {
					payloads = append(payloads, payloadOf(number, c.Bytes, 0))
				}
				if failures[lane] == nil {
					failures[lane] = q.enqueueBulk(payloads)
				}
			}
		})
	}
	for first := c.From; first < c.From+c.Count; first += size {
		batches <- first
	}
	close(batches)
	lanes.Wait()
	return answer{"begin": begin}, errors.Join(failures...)
}

func enqueueOneByOne(q queue, c command) (answer, error) {
	begin := now()
	for number := c.From; number < c.From+c.Count; number++ {
		if err := q.enqueueOne(payloadOf(number, c.Bytes, 0)); err != nil {
			return nil, err
		}
	}
	return answer{"begin": begin}, nil
}

// enqueueEvenly keeps its rate however long each call takes: a slow answer must not thin out the load.
func enqueueEvenly(q queue, c command) (answer, error) {
	begin := now()
	failures := make([]error, c.Count)
	var underWay sync.WaitGroup
	for sent := 0; sent < c.Count; {
		due := min(c.Count, int((now()-begin)*c.Rate)+1)
		for ; sent < due; sent++ {
			payload := payloadOf(c.From+sent, c.Bytes, now())
			place := &failures[sent]
			underWay.Go(func() { *place = q.enqueueOne(payload) })
		}
		time.Sleep(time.Millisecond)
	}
	underWay.Wait()
	return answer{"begin": begin}, errors.Join(failures...)
}
