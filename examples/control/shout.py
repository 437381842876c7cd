"""Holds what players say and forwards it in capital letters; ends the session of who says "bye".

    mitmcraft proxy localhost --control
    python3 examples/control/shout.py 'ws://127.0.0.1:8768/socket#TOKEN'
"""

import sys

from mitmcraft import Control

with Control(sys.argv[1]) as control:
    for packet in control.held("serverbound and role.chat"):
        place = {"session": packet["session"], "held": packet["held"]}
        fields = packet["content"]["fields"]
        if "message" not in fields:
            # A command.
            control.ask("forward", **place)
            continue
        print(f"session {packet['session']}: {fields['message']}", flush=True)
        control.ask("edit", **place, fields={**fields, "message": fields["message"].upper()})
        if fields["message"] == "bye":
            control.ask("kick", session=packet["session"], text="Goodbye!")
