"""Drives a session through `proxy --control URL`: changes what the client says and hears, answers it, kicks it.

Prints `ready` once a client may come, and at the end what it was told, as JSON.
"""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples/control"))
from mitmcraft import Control, Refused

url = sys.argv[1]
RULE = """
[[rule]]
name = "note chat"
when = 'chat and clientbound'
tag  = "heard"
"""


def say(text):
    return {"message": json.dumps({"translate": "chat.type.text", "with": ["Program", text]}), "position": 0}


told = {"refused": []}
try:
    Control(url[:-1] + ("0" if url[-1] != "0" else "1"))
except Refused as error:
    told["refused"].append(str(error))

follower, control = Control(url), Control(url)
follower.ask("subscribe", filter="role.chat or kick_disconnect")
rules = control.ask("rules")["files"][0]
for text in ["[[rule]]\nname = 1\n", rules["text"] + RULE]:
    saved = control.ask("save_rules", file=0, base=rules["text"], text=text)
    told.setdefault("saved", []).append(saved["outcome"])
try:
    control.ask("break", where="mesage == 1")
except Refused as error:
    told["refused"].append(error.failure["hint"])

condition = 'chat and (serverbound or message contains "a program")'
control.ask("break", where=condition)
print("ready", flush=True)
for packet in control.held(condition):
    place = {"session": packet["session"], "held": packet["held"]}
    fields = packet["content"]["fields"]
    text = fields["message"]
    if packet["dir"] == "clientbound":
        text = text.replace("hello from a program", "hello from a real client")
        control.ask("edit", **place, fields={**fields, "message": text})
    elif text == "hello from a real client":
        control.ask("edit", **place, fields={"message": "hello from a program"})
    elif text == "bye":
        control.ask("drop", **place)
        told["sessions"] = [it["player"] for it in control.ask("sessions")["sessions"]]
        told["heard"] = control.ask("rule_counts")["counts"][0]
        control.ask("kick", session=packet["session"], text="kicked by a program")
        break
    else:
        # The server never hears it: the program answers in its stead.
        control.ask("drop", **place)
        control.ask("send", session=packet["session"], to="client", packet="chat", fields=say(text))

told["packets"] = []
for push in follower.pushes():
    if push["push"] == "packets":
        assert push["missed"] == 0
        told["packets"] += [[it["dir"], it["packet"], it["verdict"], it["origin"], it["fields"]] for it in push["packets"]]
    if push["push"] == "sessions" and push["sessions"][-1]["closed"]:
        told["closed"] = push["sessions"][-1]["closed"]
        break
try:
    control.ask("kick", session=1, text="again")
except Refused as error:
    told["refused"].append(str(error))
print(json.dumps(told, ensure_ascii=False))
