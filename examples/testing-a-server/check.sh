#!/usr/bin/env bash
# Checks a build of the plugin: check.sh PLUGIN.js [RESULTS]
# Writes session.pcapng, expectations.xml and lint.xml to the folder RESULTS (default: results).
# Exit code: 0 if the build is good, 1 if an expectation or the linter finds an error, 2 otherwise.
set -euo pipefail
plugin=$1
results=${2:-results}
here=$(dirname "$0")
mitmcraft=${MITMCRAFT:-mitmcraft}
mkdir -p "$results"

# The server says its port when it is ready, the proxy its address on stderr.
exec 3< <(exec node "$here/server.js" "$plugin")
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r server_port <&3 || exit 2
exec 4< <(exec "$mitmcraft" proxy "127.0.0.1:$server_port" -l 127.0.0.1:0 -q \
  -f "$here/tests.toml" -w "$results/session.pcapng" --overwrite \
  --junit "$results/expectations.xml" ${ANNOTATIONS:+--annotations "$ANNOTATIONS"} 2>&1)
proxy=$!
until [[ ${line:-} == "listening on "* ]]; do read -r line <&4 || exit 2; done
address=${line#listening on }
proxy_port=${address%%,*}
proxy_port=${proxy_port##*:}

played=0
node "$here/bot.js" "$proxy_port" || played=2

# The proxy judges the session when it ends.
kill -INT "$proxy"
cat <&4
judged=0
wait "$proxy" || judged=$?
linted=0
"$mitmcraft" lint --capture "$results/session.pcapng" --junit "$results/lint.xml" --overwrite || linted=$?

for code in "$played" "$judged" "$linted"; do
  [[ $code -le 1 ]] || exit "$code"
done
[[ $judged == 0 && $linted == 0 ]]
