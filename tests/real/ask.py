"""Asks a server with mcstatus: `ask.py status|legacy|query PORT [QUERY_PORT]`; prints JSON."""

import json
import sys

from mcstatus import JavaServer, LegacyServer

what, port = sys.argv[1], int(sys.argv[2])
if what == "legacy":
    status = LegacyServer("127.0.0.1", port, timeout=300).status()
    print(json.dumps({
        "motd": status.motd.raw,
        "version": status.version.name,
        "protocol": status.version.protocol,
        "online": status.players.online,
        "max": status.players.max,
    }))
elif what == "status":
    print(json.dumps(JavaServer("127.0.0.1", port, timeout=300).status().raw))
else:
    found = JavaServer("127.0.0.1", 1, timeout=300, query_port=port).query(tries=1)
    print(json.dumps({
        "motd": found.motd.raw,
        "map": found.map_name,
        "players": found.players.list,
        "online": found.players.online,
        "max": found.players.max,
    }))
