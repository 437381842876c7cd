#!/usr/bin/env python3
"""A player of 26.2 whose ids and layouts are its own: AMP (PyPI amp-mc), without its planner.

  amp_player.py PORT           joins, acts, says "bye", goes to the configuration and back, and is kicked;
                               prints what it understood of the server as one JSON object per line
  amp_player.py PORT --leave   joins, acts, says "bye" and leaves, on a server that shows no entity
"""
import dataclasses
import json
import socket
import sys
import threading
import types

# AMP's planner asks a language model, which this player does not have.
sys.modules["anthropic"] = types.SimpleNamespace(Anthropic=None)
sys.modules["dotenv"] = types.SimpleNamespace(find_dotenv=None, load_dotenv=None)

from amp import protocol_types as amp
from amp.connection import Connection
from amp.java26_protocol import Java26ProtocolAdapter
from amp.version_support import load_support_manifest

VERSION = "26.2"
# Seconds after which what does not come is given up.
PATIENCE = 300
ACTIONS = [
    amp.ChatAction("hello from AMP"),
    amp.MoveAction(-1.5, 64.25, 300.0),
    amp.LookAction(90.0, -12.5),
    amp.MineAction(-7, -60, 1000, 1),
    amp.PlaceAction(5, 70, -5, 2),
    amp.AttackAction(4711),
    amp.SelectHotbarAction(8),
    amp.SneakAction(True),
    amp.SwingAction(1),
    amp.ChatAction("bye"),
]

leaves = "--leave" in sys.argv
release = load_support_manifest()["versions"][VERSION]
greeted = threading.Event()
ended = threading.Event()


def on_packet(number, payload):
    for event in adapter.decode_play(number, payload) or []:
        name = type(event).__name__
        print(json.dumps({"event": name, **dataclasses.asdict(event)}), flush=True)
        if name == ("PositionChanged" if leaves else "EntitiesRemoved"):
            greeted.set()


def on_end(error):
    print(json.dumps({"event": "end", "error": repr(error)}), flush=True)
    greeted.set()
    ended.set()


connection = Connection(
    "127.0.0.1", int(sys.argv[1]), VERSION, "Amp", on_end, release["protocol"], packet_handler=on_packet
)
adapter = Java26ProtocolAdapter(release["family"], VERSION, connection)
connection.set_protocol_adapter(adapter)
connection.connect()
if not greeted.wait(PATIENCE):
    sys.exit("nothing from the server")
for action in ACTIONS:
    for step in adapter.encode_action(action, None, "survival").steps:
        connection._send(step.packet)
if leaves:
    connection._socket.shutdown(socket.SHUT_WR)
if not ended.wait(PATIENCE):
    sys.exit("still connected")
