#!/usr/bin/env python3
"""Compare the --log files of the two ends of a session, or test the peers.

  check.py SERVER.log CLIENT.log   compare; exit 0 if both ends saw the same
  check.py                         run the peers directly against each other
                                   in all variants, and compare each time

Sent and received must be equal, packet by packet and byte by byte, in each
direction. Only at the very end may an end miss packets: what was in flight
when the connection was closed (at most TAIL of them).
"""
import json
import os
import subprocess
import sys
import tempfile

TAIL = 20
HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    """{connection: {direction: [(state, name, body)]}}"""
    out = {}
    with open(path) as f:
        for line in f:
            p = json.loads(line)
            conn = out.setdefault(p["conn"], {"clientbound": [], "serverbound": []})
            conn[p["dir"]].append((p["state"], p["name"], p["body"]))
    return out


def compare(server_log, client_log):
    """Problems found (empty if none), and one line that says what was compared."""
    server, client = read(server_log), read(client_log)
    problems, seen = [], []
    if not server or len(server) != len(client):
        problems.append(f"{len(server)} connections at the server, {len(client)} at the client")
    for conn in sorted(server.keys() & client.keys()):
        for direction in ("serverbound", "clientbound"):
            a, b = server[conn][direction], client[conn][direction]
            sent, got = (a, b) if direction == "clientbound" else (b, a)
            where = f"connection {conn} {direction}"
            for i, (s, g) in enumerate(zip(sent, got)):
                if s != g:
                    problems.append(f"{where} packet {i}: sent {s[0]}.{s[1]} {s[2][:60]}, received {g[0]}.{g[1]} {g[2][:60]}")
                    break
            if len(got) > len(sent) or len(sent) - len(got) > TAIL:
                problems.append(f"{where}: {len(sent)} sent, {len(got)} received")
            lost = f" (-{len(sent) - len(got)} at close)" if len(got) < len(sent) else ""
            seen.append(f"{direction} {len(got)}{lost} packets {sum(len(p[2]) for p in got) // 2} bytes")
    return problems, ", ".join(seen)


def node(script, *args, **kw):
    return subprocess.Popen(["node", os.path.join(HERE, script), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def run(server_cmd, client_cmd, folder):
    logs = [os.path.join(folder, "server.log"), os.path.join(folder, "client.log")]
    server = node(*server_cmd, "--log", logs[0])
    try:
        port = json.loads(server.stdout.readline())["port"]
        client = node(*client_cmd, "--port", str(port), "--log", logs[1])
        out, err = client.communicate(timeout=70)
        if client_cmd[0] == "ping.js":  # pings do not end a server
            server.terminate()
        server_err = server.communicate(timeout=70)[1]
    finally:
        server.kill()
    problems, seen = compare(*logs)
    for who, code, text in (("client", client.returncode, err), ("server", server.returncode, server_err)):
        if code:
            problems.append(f"{who} exited {code}: {text.strip()[-500:]}")
    print("FAIL" if problems else "ok  ", *server_cmd, "<-", *client_cmd, "|", seen, flush=True)
    for p in problems:
        print("    ", p)
    return not problems


def main():
    if len(sys.argv) == 3:
        problems, seen = compare(*sys.argv[1:])
        print(seen)
        for p in problems:
            print(p, file=sys.stderr)
        return 1 if problems else 0
    variants = [
        (["server.js", "--threshold", t, *e], ["client.js"])
        for e in ([], ["--encrypt"]) for t in ("-1", "0", "64", "256")
    ] + [
        (["server.js", "--odd"], ["client.js", "--odd"]),
        (["server.js", "--encrypt"], ["client.js", "--fake-host", "mc.example.net", "--name", "Elsewhere"]),
        (["server.js"], ["ping.js"]),
        (["server.js", "--allow-quit"], ["bot.js"]),
        (["server.js", "--allow-quit", "--encrypt"], ["bot.js"]),
        (["squid.js"], ["bot.js"]),
        (["squid.js"], ["ping.js"]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all([run(s, c, folder) for s, c in variants]) else 1


if __name__ == "__main__":
    sys.exit(main())
