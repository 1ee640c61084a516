package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// NATS JetStream: a stream of files, published to without waiting for each answer, pulled from in large
// steps, each message acknowledged on its own. The stream keeps them: one that removes what is
// acknowledged is slower, a tenth as fast if it syncs.
const (
	natsPendingMax = 4000 // Published and not answered yet.
	natsBatch      = 1000 // The most that the server takes as one.
	natsPull       = 2000
)

type natsQueue struct {
	link     *nats.Conn
	stream   jetstream.JetStream
	consumer jetstream.Consumer
	atomic   bool
}

func openNats(s settings) (queue, error) {
	link, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", s.Port))
	if err != nil {
		return nil, err
	}
	stream, err := jetstream.New(link, jetstream.WithPublishAsyncMaxPending(natsPendingMax))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if _, err := stream.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:               "bench",
		Subjects:           []string{"bench"},
		Storage:            jetstream.FileStorage,
		AllowAtomicPublish: s.Atomic,
	}); err != nil {
		return nil, err
	}
	consumer, err := stream.CreateOrUpdateConsumer(ctx, "bench", jetstream.ConsumerConfig{
		Durable:       "bench",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       5 * time.Minute, // Nothing is given out again while the machine is slow.
		MaxAckPending: 4 * natsPull,
	})
	return &natsQueue{link, stream, consumer, s.Atomic}, err
}

func (q *natsQueue) bulk() (size, window int) { return natsBatch, natsPendingMax / natsBatch }

func (q *natsQueue) enqueueBulk(payloads []string) error {
	if q.atomic {
		return q.enqueueAtOnce(payloads)
	}
	sent := make([]jetstream.PubAckFuture, 0, len(payloads))
	for _, payload := range payloads {
		future, err := q.stream.PublishAsync("bench", []byte(payload))
		if err != nil {
			return err
		}
		sent = append(sent, future)
	}
	for _, future := range sent {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			return err
		}
	}
	return nil
}

// enqueueAtOnce publishes an atomic batch, which a server that syncs always syncs once; one that does
// not is faster without. The client has no call for it yet: the protocol is in the messages' headers.
func (q *natsQueue) enqueueAtOnce(payloads []string) error {
	batch := nuid.Next()
	for at, payload := range payloads {
		message := nats.NewMsg("bench")
		message.Data = []byte(payload)
		message.Header.Set("Nats-Batch-Id", batch)
		message.Header.Set("Nats-Batch-Sequence", strconv.Itoa(at+1))
		if at+1 < len(payloads) {
			if err := q.link.PublishMsg(message); err != nil {
				return err
			}
			continue
		}
		message.Header.Set("Nats-Batch-Commit", "1")
		reply, err := q.link.RequestMsg(message, time.Minute)
		if err != nil {
			return err
		}
		var accepted struct {
			Error *jetstream.APIError `json:"error"`
			Count int                 `json:"count"`
		}
		if err := json.Unmarshal(reply.Data, &accepted); err != nil {
			return err
		}
		if accepted.Error != nil || accepted.Count != len(payloads) {
			return fmt.Errorf("a batch of %d was answered by %s", len(payloads), reply.Data)
		}
	}
	return nil
}

func (q *natsQueue) enqueueOne(payload string) error {
	_, err := q.stream.Publish(context.Background(), "bench", []byte(payload))
	return err
}

func (q *natsQueue) consume(start func(string), end func(int)) error {
	_, err := q.consumer.Consume(func(message jetstream.Msg) {
		start(string(message.Data()))
		if err := message.Ack(); err != nil {
			panic(err)
		}
		end(1)
	}, jetstream.PullMaxMessages(natsPull))
	return err
}

// Acknowledgements are not answered; the server says what it still waits for.
func (q *natsQueue) settled() error {
	for {
		info, err := q.consumer.Info(context.Background())
		if err != nil || info.NumPending == 0 && info.NumAckPending == 0 {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}
