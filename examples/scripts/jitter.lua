-- Delays every packet from the server by up to 80 ms, as a bad connection does; none overtakes another.
-- Try it: mitmcraft proxy localhost:25565 --script examples/scripts/jitter.lua

on('clientbound and pkt.state == "play"', function(packet)
  packet:delay(math.random(0, 80) .. "ms")
end)
