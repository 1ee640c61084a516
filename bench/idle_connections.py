#!/usr/bin/env python3
"""What idle connections cost a running scheduler: event streams and workers' WebSockets.

    TAKT_SCHEDULER_WORKER_LEASE=600s takt serve --listen 127.0.0.1:8095 --store file:/tmp/takt-idle &
    bench/idle_connections.py --port 8095 --pid $! --kind events --count 10000
    bench/idle_connections.py --port 8095 --pid $! --kind workers --count 10000

Opens the connections from two processes (a process may have some thousand files open), from several
loopback addresses (the scheduler limits connections per address), waits until they are quiet and
prints the growth of the scheduler's memory for each. Pings are answered; heartbeats are not sent, so
workers need a long lease.
"""
import argparse
import base64
import json
import multiprocessing
import os
import resource
import select
import socket
import struct
import time

PER_ADDRESS = 500  # Below server.connections_per_address_max.


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def read_head(link):
    head = b""
    while b"\r\n\r\n" not in head:
        part = link.recv(4096)
        if not part:
            raise SystemExit(f"closed by the scheduler: {head!r}")
        head += part
    return head


def open_events(link):
    link.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    if b" 200 " not in read_head(link).split(b"\r\n")[0]:
        raise SystemExit("the event stream was refused")


def frame(opcode, payload):
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
    size = struct.pack("!B", 0x80 | len(payload)) if len(payload) < 126 else \
        struct.pack("!BH", 0x80 | 126, len(payload))
    return bytes([0x80 | opcode]) + size + mask + masked


def answer_pings(poll, links):
    """Reads what has come on WebSockets; pings are small and come whole."""
    for number, _ in poll.poll(0):
        data = links[number].recv(65536)
        if not data:
            raise SystemExit("the scheduler closed a connection")
        while len(data) >= 2:
            size, begin = data[1] & 127, 2
            if size == 126:
                size, begin = struct.unpack("!H", data[2:4])[0], 4
            if data[0] & 15 == 9:
                links[number].sendall(frame(10, data[begin:begin + size]))
            data = data[begin + size:]


def open_worker(link, number):
    key = base64.b64encode(os.urandom(16))
    link.sendall(b"GET /api/v1/workers/attach HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                 b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key +
                 b"\r\n\r\n")
    if b" 101 " not in read_head(link).split(b"\r\n")[0]:
        raise SystemExit("the WebSocket was refused")
    hello = json.dumps({"hello": {"protocol": 1, "worker_id": f"idle-{number}",
                                  "instance": f"i-{number}", "capacity": 1,
                                  "types": ["nothing"]}}).encode()
    link.sendall(frame(1, hello))


def hold(args, first, count, ready, done):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    links = {}
    poll = select.epoll()
    for number in range(first, first + count):
        link = socket.socket()
        link.bind((f"127.0.0.{2 + number // PER_ADDRESS}", 0))
        link.connect(("127.0.0.1", args.port))
        open_events(link) if args.kind == "events" else open_worker(link, number)
        links[link.fileno()] = link
        if args.kind == "workers":
            poll.register(link.fileno(), select.EPOLLIN)
            if number % 100 == 0:
                answer_pings(poll, links)
    ready.release()
    while not done.wait(0.2):
        answer_pings(poll, links)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--pid", type=int, required=True, help="of the scheduler")
    parser.add_argument("--kind", choices=["events", "workers"], required=True)
    parser.add_argument("--count", type=int, default=10_000)
    args = parser.parse_args()
    ready = multiprocessing.Semaphore(0)
    done = multiprocessing.Event()
    before = resident_bytes(args.pid)
    half = args.count // 2
    holders = [multiprocessing.Process(target=hold, args=(args, first, half, ready, done))
               for first in (0, half)]
    for holder in holders:
        holder.start()
    for _ in holders:
        while not ready.acquire(timeout=1):
            if any(holder.exitcode for holder in holders):
                done.set()
                raise SystemExit("not all connections could be opened")
    time.sleep(2)  # What opening them left to do.
    each = (resident_bytes(args.pid) - before) / (2 * half)
    print(f"{2 * half} idle {args.kind}: {each:.0f} bytes each (target < 20480)")
    done.set()
    for holder in holders:
        holder.join()


if __name__ == "__main__":
    main()
