"""Masks words in chat, and answers `!ping` (1.8 to 1.15) itself. Needs nothing but Python 3.

    mitmcraft proxy mc.example.org --pipe 'python3 examples/pipe/filter.py darn heck' \
      --pipe-where 'serverbound and role.chat'
"""

import json
import sys

words = sys.argv[1:]
# Windows has another encoding by default.
sys.stdin.reconfigure(encoding="utf-8")


def decide(packet):
    """Returns what becomes of a packet: the answer without its `id`."""
    message = packet.get("fields", {}).get("message")
    if "error" in packet or message is None:
        return {"pass": True}
    if message == "!ping":
        pong = {"message": {"text": "pong"}, "position": 0}
        return {"drop": True, "send": [{"to": "client", "packet": "chat", "fields": pong}]}
    masked = message
    for word in words:
        masked = masked.replace(word, "*" * len(word))
    return {"pass": True} if masked == message else {"set": {"message": masked}}


for line in sys.stdin:
    packet = json.loads(line)
    # Flushed: the packet waits for this line.
    print(json.dumps({"id": packet["id"], **decide(packet)}), flush=True)
