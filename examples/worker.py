#!/usr/bin/env python3
"""A Takt worker in Python, from docs/worker_protocol.md alone. Needs python3-websocket.
usage: worker.py ws://127.0.0.1:8080 [worker id] [token]"""
import json, queue, random, sys, threading, time, uuid, websocket

def add(payload, log):
    log(f"adding {payload['a']} and {payload['b']}")
    return payload["a"] + payload["b"]

HANDLERS = {"py.add": add, "py.upper": lambda payload, log: payload.upper()}
CAPACITY = 4
held = {}  # token -> {"attempt": …, "result": … once it ended}
work = queue.Queue()
outbox = queue.Queue()  # frames for whatever connection there is
epoch = 0

def run():
    while True:
        assign = work.get()
        name = assign["attempt"]
        outbox.put({"started": [{"attempt": name}]})
        result = {"attempt": name, "success": True}
        log = lambda line: outbox.put({"logs": [{"attempt": name, "lines": [line]}]})
        log.assign = assign  # the rest: parent_id, step and shard of a workflow's step, metadata …
        try:
            answer = HANDLERS[assign["type"]](json.loads(assign["payload"] or "null"), log)
            result["data"] = json.dumps(answer)
        except Exception as error:
            result.update(success=False, code=1, message=str(error))
        held[name["token"]]["result"] = result
        outbox.put({"results": [result]})

def send(socket):
    try:
        while True:
            try:
                frame = outbox.get(timeout=5)
            except queue.Empty:
                frame = {"heartbeat": {}}
            socket.send(json.dumps(frame))
    except (OSError, websocket.WebSocketException):
        outbox.put(frame)  # for the next connection, which the reader makes

def serve(url, worker_id, token, instance):
    global epoch
    header = {"Authorization": f"Bearer {token}"} if token else {}
    socket = websocket.create_connection(url + "/api/v1/workers/attach", timeout=30, header=header)
    socket.send(json.dumps({"hello": {
        "protocol": 1, "worker_id": worker_id, "instance": instance, "capacity": CAPACITY,
        "types": list(HANDLERS), "epoch_seen": str(epoch),
        "holding": [entry["attempt"] for entry in held.values()]}}))
    heard, lease = time.monotonic(), 30
    while True:
        frame = json.loads(socket.recv() or "{}")
        if time.monotonic() - heard > lease:
            return socket.close()  # this process slept: what lies in the socket is others' by now
        heard = time.monotonic()
        if "refused" in frame:
            raise SystemExit(f"refused: {frame['refused']['message']}")
        if "moved" in frame:
            return frame["moved"]["address"].replace("http", "ws", 1)
        if "welcome" in frame:
            epoch, lease = int(frame["welcome"]["epoch"]), frame["welcome"]["lease_ms"] / 1000
            outbox.queue.clear()
            outbox.put({"results": [e["result"] for e in held.values() if "result" in e]})
            threading.Thread(target=send, args=(socket,), daemon=True).start()
        for assign in frame.get("assigns", []):
            held[assign["attempt"]["token"]] = {"attempt": assign["attempt"]}
            work.put(assign)
        for ack in frame.get("acks", []):
            held.pop(ack["attempt"]["token"], None)

def main(arguments):
    server, worker_id, token = (arguments + [None] * 3)[:3]
    for _ in range(CAPACITY):
        threading.Thread(target=run, daemon=True).start()
    url, instance = server, str(uuid.uuid4())
    while True:
        try:
            url = serve(url, worker_id or "python-worker", token, instance) or server
        except (OSError, websocket.WebSocketException, ValueError) as error:
            print("disconnected:", error, file=sys.stderr)
            url = server
        time.sleep(random.random())

if __name__ == "__main__":
    main(sys.argv[1:])
