package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Asynq on Redis. It has no call that takes several tasks, so many goroutines enqueue at once; and a
// server fetches one task after the other, so several servers run in the process of the consumer.
const (
	asynqLanes       = 64
	asynqServers     = 4
	asynqConcurrency = 64 // Of each server.
)

type asynqQueue struct {
	address asynq.RedisClientOpt
	redis   redis.UniversalClient
	client  *asynq.Client
}

func openAsynq(s settings) (queue, error) {
	address := asynq.RedisClientOpt{Addr: fmt.Sprintf("127.0.0.1:%d", s.Port), PoolSize: asynqLanes}
	client := address.MakeRedisClient().(redis.UniversalClient)
	if err := client.Ping(context.Background()).Err(); err != nil {
		return nil, err
	}
	return &asynqQueue{address, client, asynq.NewClientFromRedisClient(client)}, nil
}

func (q *asynqQueue) bulk() (size, window int) { return 100, asynqLanes }

func (q *asynqQueue) enqueueBulk(payloads []string) error {
	for _, payload := range payloads {
		if err := q.enqueueOne(payload); err != nil {
			return err
		}
	}
	return nil
}

func (q *asynqQueue) enqueueOne(payload string) error {
	_, err := q.client.Enqueue(asynq.NewTask("noop", []byte(payload)))
	return err
}

func (q *asynqQueue) consume(start func(string), end func(int)) error {
	noop := func(_ context.Context, task *asynq.Task) error {
		start(string(task.Payload()))
		end(1)
		return nil
	}
	for range asynqServers {
		server := asynq.NewServer(q.address, asynq.Config{
			Concurrency:       asynqConcurrency,
			TaskCheckInterval: time.Millisecond,
			LogLevel:          asynq.ErrorLevel,
		})
		if err := server.Start(asynq.HandlerFunc(noop)); err != nil {
			return err
		}
	}
	return nil
}

// A handler's end comes before Redis is told; then the task leaves the list of active ones.
func (q *asynqQueue) settled() error {
	for {
		left, err := q.redis.LLen(context.Background(), "asynq:{default}:active").Result()
		if err != nil || left == 0 {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
