"""What a game on this machine and one on its network hear of `mitmcraft proxy --lan`.

Run in a network namespace of its own: unshare --net --map-root-user python3 lan.py MITMCRAFT ADDRESS..
Prints, for each address to listen on, what each game heard, as a line of JSON.
"""

import json
import socket
import subprocess
import sys

GROUP = ("224.0.2.60", 4445)
HERE, THERE = "10.9.0.1", "10.9.0.2"

# Listens like the game, then answers each line on stdin with what has come since the last one.
PEER = f"""
import json, socket, sys
game = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
game.bind(("", {GROUP[1]}))
game.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                socket.inet_aton("{GROUP[0]}") + socket.inet_aton("0.0.0.0"))
game.setblocking(False)
print("ready", flush=True)
for _ in sys.stdin:
    heard = set()
    while True:
        try:
            message, source = game.recvfrom(1000)
        except BlockingIOError:
            break
        heard.add((message.decode(), source[0]))
    print(json.dumps(sorted(heard)), flush=True)
"""


def run(command):
    subprocess.run(command, shell=True, check=True)


def main():
    program, *addresses = sys.argv[1:]
    # `cat` holds the other machine's namespace open.
    other = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo ready; exec cat"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    run("ip link set lo up")
    run(f"ip link add veth0 type veth peer name veth1 netns {other.pid}")
    run(f"ip addr add {HERE}/24 dev veth0 && ip link set veth0 up")
    run(f"ip route add default via {THERE}")
    enter = ["nsenter", "-t", str(other.pid), "-n"]
    setup = f"ip link set lo up && ip addr add {THERE}/24 dev veth1 && ip link set veth1 up"
    run(" ".join(enter) + f" sh -c '{setup} && ip route add default via {HERE}'")
    peer = subprocess.Popen([*enter, sys.executable, "-c", PEER],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    peer.stdout.readline()

    game = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    game.bind(("", GROUP[1]))
    # Java's `joinGroup` without an interface takes the default one.
    game.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                    socket.inet_aton(GROUP[0]) + socket.inet_aton("0.0.0.0"))
    game.settimeout(300)

    for address in addresses:
        proxy = subprocess.Popen(
            [program, "proxy", "192.0.2.1:25565", "-q", "--lan", "-l", address],
            stderr=subprocess.DEVNULL)
        heard = []
        # Two rounds: what the first has sent has arrived everywhere when the second comes.
        while len(heard) < 2 or heard.count(heard[0]) < 2:
            message, source = game.recvfrom(1000)
            heard.append((message.decode(), source[0]))
        peer.stdin.write("\n")
        peer.stdin.flush()
        there = json.loads(peer.stdout.readline())
        proxy.terminate()
        proxy.wait()
        game.setblocking(False)
        try:
            while True:
                message, source = game.recvfrom(1000)
                heard.append((message.decode(), source[0]))
        except BlockingIOError:
            game.settimeout(300)
        # What came between the two games' reading belongs to this address too.
        peer.stdin.write("\n")
        peer.stdin.flush()
        there += [it for it in json.loads(peer.stdout.readline()) if it not in there]
        print(json.dumps({"here": sorted(set(heard)), "there": there}), flush=True)


main()
