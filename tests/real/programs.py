"""Connects to `--control` with one of the WebSocket libraries of Python: `python programs.py LIBRARY URL`.

Prints `welcome` once it may do everything, and the code with which the proxy closes the connection.
"""

import asyncio
import json
import sys

library, url = sys.argv[1:]
address, _, token = url.partition("#")
LOGIN = json.dumps({"token": token})


def heard(text):
    message = json.loads(text)
    if "push" not in message:
        print("welcome" if "hello" in message else text, flush=True)


def with_websockets():
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    with connect(address) as socket:
        socket.send(LOGIN)
        try:
            while True:
                heard(socket.recv())
        except ConnectionClosed as closed:
            return closed.rcvd.code


def with_websocket_client():
    import websocket

    socket = websocket.create_connection(address)
    socket.send(LOGIN)
    while True:
        kind, data = socket.recv_data()
        if kind == websocket.ABNF.OPCODE_CLOSE:
            return int.from_bytes(data[:2], "big")
        heard(data)


async def with_aiohttp():
    import aiohttp

    async with aiohttp.ClientSession() as session, session.ws_connect(address) as socket:
        await socket.send_str(LOGIN)
        async for message in socket:
            heard(message.data)
        return socket.close_code


async def with_tornado():
    from tornado.websocket import websocket_connect

    socket = await websocket_connect(address)
    await socket.write_message(LOGIN)
    while (message := await socket.read_message()) is not None:
        heard(message)
    return socket.close_code


match library:
    case "websockets":
        code = with_websockets()
    case "websocket-client":
        code = with_websocket_client()
    case "aiohttp":
        code = asyncio.run(with_aiohttp())
    case "tornado":
        code = asyncio.run(with_tornado())
print(f"closed {code}")
