"""A client of `mitmcraft proxy --control`. Needs Python 3.10 and the package `websockets`.

    from mitmcraft import Control
    with Control("ws://127.0.0.1:8768/socket#TOKEN") as control:
        print(control.ask("sessions"))

A request is a name and its arguments: docs/control.md has all of them.
"""

import collections
import json

from websockets.exceptions import ConnectionClosedOK
from websockets.sync.client import connect


class Refused(Exception):
    """A request that was not carried out. Its `failure` has the `message` and what else is known."""

    def __init__(self, failure):
        super().__init__(failure["message"])
        self.failure = failure


class Control:
    """A connection to a run of the proxy. The end of the run ends a `with` block quietly."""

    def __init__(self, url):
        """Connects to the URL that the proxy has printed. Its fragment is the token."""
        address, _, token = url.partition("#")
        # One message may have a packet of many megabytes.
        self.socket = connect(address, max_size=None)
        self.pushed = collections.deque()
        self.last = 0
        self.socket.send(json.dumps({"token": token}))
        first = json.loads(self.socket.recv())
        if "error" in first:
            raise Refused(first["error"])
        self.hello = first["hello"]
        if self.hello["protocol"] != 1:
            raise RuntimeError(f"mitmcraft {self.hello['version']} speaks another protocol")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.socket.close()
        return kind is ConnectionClosedOK

    def ask(self, request, **arguments):
        """Sends a request and returns its answer. What is pushed meanwhile is kept for `pushes`."""
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "do": request, **arguments}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.last:
                if "error" in message:
                    raise Refused(message["error"])
                return message
            self.pushed.append(message)

    def pushes(self):
        """Yields what is pushed, as it comes, until the run ends."""
        while True:
            if self.pushed:
                yield self.pushed.popleft()
                continue
            try:
                message = self.socket.recv()
            except ConnectionClosedOK:
                return
            yield json.loads(message)

    def packets(self, where="", **arguments):
        """Yields packets that match, from now on, each as a line of a JSONL capture has it."""
        self.ask("subscribe", filter=where, **arguments)
        for push in self.pushes():
            if push.get("push") == "packets":
                if push["missed"]:
                    print(f"{push['missed']} packets were forgotten before they were read")
                yield from push["packets"]

    def held(self, where):
        """Holds packets that match, from now on, and yields each with its `content`. Decide on each by
        `forward`, `drop` or `edit`."""
        self.ask("break", where=where)
        seen = 0
        while True:
            packets = self.ask("held_rows", start=0, count=500)["packets"]
            for packet in packets:
                # Numbers rise in the order in which the packets came.
                if packet["number"] > seen and packet["decided"] is None:
                    seen = packet["number"]
                    place = {"session": packet["session"], "held": packet["held"]}
                    yield {**packet, "content": self.ask("held", **place)}
            if not packets or packets[-1]["number"] <= seen:
                holding = (push for push in self.pushes() if push.get("push") == "holding")
                if next(holding, None) is None:
                    return
