"""Presses TAB in a shell that has loaded completions: `python tab.py SHELL SCRIPT FOLDER LINE..`.

SCRIPT is what `mitmcraft completions SHELL` prints, FOLDER is empty and becomes the shell's home. Prints one line of JSON
for each LINE: what the shell shows after its TAB, without escape sequences.
"""

import json
import os
import pathlib
import pty
import re
import select
import sys

shell, script, folder, *lines = sys.argv[1:]
home = pathlib.Path(folder)
READY = "ready> "

if shell == "zsh":
    (home / "_mitmcraft").write_text(pathlib.Path(script).read_text())
    (home / ".zshrc").write_text(
        f"fpath=({home} $fpath); autoload -Uz compinit; compinit -u\n"
        # Lists are printed whole, and not through a menu.
        f"LISTMAX=100000; unsetopt beep; setopt no_list_beep; PS1='{READY}'; PROMPT_SP=; unsetopt prompt_sp\n"
    )
    command = ["zsh", "-i"]
elif shell == "bash":
    (home / ".bashrc").write_text(
        f"source {script}\nPS1='{READY}'\nbind 'set enable-bracketed-paste off'\nbind 'set page-completions off'\n"
        "bind 'set show-all-if-ambiguous on'\nbind 'set completion-query-items 0'\nbind 'set bell-style none'\n"
    )
    command = ["bash", "--noprofile", "--rcfile", str(home / ".bashrc"), "-i"]
else:
    command = None

os.environ.update(HOME=str(home), ZDOTDIR=str(home), TERM="dumb", COLUMNS="200", LINES="200", PROMPT_EOL_MARK="")


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07|[\x07\r]", "", text)


def wait(terminal, done):
    """Reads until `done` is true of what has come."""
    came = ""
    while not done(came):
        if not select.select([terminal], [], [], 20)[0]:
            raise SystemExit(f"{shell} shows nothing more behind {came!r}")
        came += plain(os.read(terminal, 65536).decode(errors="replace"))
    return came


if command:
    process, terminal = pty.fork()
    if process == 0:
        os.execvp(command[0], command)
    wait(terminal, lambda came: came.endswith(READY))
    for number, line in enumerate(lines):
        # What follows the TAB runs as a command once it is there, and its answer ends what the shell shows.
        os.write(terminal, line.encode() + b"\t")
        mark = f"end{number}"
        os.write(terminal, f"\x01\x0becho {mark[:3]}''{number}\n".encode())
        came = wait(terminal, lambda came: f"{mark}\n{READY}" in came)
        print(json.dumps(came.split(f"echo {mark[:3]}")[0]), flush=True)
    os.write(terminal, b"exit\n")
else:
    import subprocess

    # Fish says what it would offer.
    for line in lines:
        run = subprocess.run(
            ["fish", "--no-config", "-c", f"source {script}; complete -C {json.dumps(line)}"],
            capture_output=True,
            text=True,
        )
        print(json.dumps(run.stdout + run.stderr), flush=True)
