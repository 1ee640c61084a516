package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River on PostgreSQL: inserts by COPY, and a fetch of up to as many jobs as it has workers each
// millisecond. Completed jobs stay in its table for a day: it cannot remove them at once.
const (
	riverConnections = 10
	riverWorkers     = 1000
	riverCooldown    = time.Millisecond // The least that it takes.
)

type riverArgs struct {
	P string `json:"p"`
}

func (riverArgs) Kind() string { return "noop" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	start func(string)
	end   func(int)
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[riverArgs]) error {
	w.start(job.Args.P)
	w.end(1)
	return nil
}

type riverQueue struct {
	pool     *pgxpool.Pool
	inserter *river.Client[pgx.Tx]
}

func openRiver(s settings) (queue, error) {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(s.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = riverConnections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: riverLogger()})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	inserter, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: riverLogger()})
	return &riverQueue{pool, inserter}, err
}

func riverLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

func (q *riverQueue) bulk() (size, window int) { return 5000, 2 }

func (q *riverQueue) enqueueBulk(payloads []string) error {
	jobs := make([]river.InsertManyParams, len(payloads))
	for at, payload := range payloads {
		jobs[at].Args = riverArgs{payload}
	}
	_, err := q.inserter.InsertManyFast(context.Background(), jobs)
	return err
}

func (q *riverQueue) enqueueOne(payload string) error {
	_, err := q.inserter.Insert(context.Background(), riverArgs{payload}, nil)
	return err
}

func (q *riverQueue) consume(start func(string), end func(int)) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{start: start, end: end})
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		Workers:           workers,
		FetchCooldown:     riverCooldown,
		FetchPollInterval: riverCooldown,
		Logger:            riverLogger(),
	})
	if err != nil {
		return err
	}
	return client.Start(context.Background())
}

// Completions are written in batches, some time after the handlers.
func (q *riverQueue) settled() error {
	for {
		var left int
		err := q.pool.QueryRow(context.Background(),
			"select 1 from river_job where state in ('available', 'running', 'retryable') limit 1",
		).Scan(&left)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
