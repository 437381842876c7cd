"""A proxy as people write it with quarry, for tests/bench: it passes every packet on, without reading it.

Takes the server's address as its argument.
"""

import json
import sys

from quarry.net.proxy import Bridge, Downstream, DownstreamFactory
from twisted.internet import reactor


class Waiting(Downstream):
    """Keeps what the client says before the server has let it in."""

    def setup(self):
        super().setup()
        self.waiting = []

    def packet_unhandled(self, buff, name):
        self.waiting.append((name, buff.read()))


class Passing(Bridge):
    def upstream_ready(self):
        super().upstream_ready()
        for name, data in self.downstream.waiting:
            self.upstream.send_packet(name, data)


host, port = sys.argv[1].split(":")
factory = DownstreamFactory()
factory.protocol = Waiting
factory.bridge_class = Passing
factory.online_mode = False
factory.connect_host = host
factory.connect_port = int(port)
listening = reactor.listenTCP(0, factory, interface="127.0.0.1")
print(json.dumps({"event": "listening", "port": listening.getHost().port}), flush=True)
reactor.run()
