#!/usr/bin/env python3
"""The steps of the workflows in this folder, in Python; how a worker talks is in ../worker.py.
usage: worker.py ws://127.0.0.1:8080 [worker id] [token]"""
import pathlib, sys
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import worker

def clear(payload, log):
    shard = log.assign["shard"]
    log(f"clearing the cache of worker {shard['index'] + 1} of {shard['total']}")
    return {"cleared": True}

worker.HANDLERS = {
    "flow.extract": lambda payload, log: {"rows": [3, 1, 2], "day": payload["day"]},
    "flow.transform": lambda payload, log: sorted(payload["rows"]),
    "flow.load": lambda payload, log: {"loaded": len(payload)},
    "flow.list": lambda payload, log: {"files": ["a.csv", "bb.csv", "ccc.csv"]},
    "flow.count": lambda payload, log: len(payload["file"]),
    "flow.sum": lambda payload, log: sum(payload["counts"]),
    "flow.clear": clear,
}

if __name__ == "__main__":
    worker.main(sys.argv[1:])
