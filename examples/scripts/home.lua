-- `!sethome` remembers where the player is, and `!home` asks the server to teleport the player there.
-- Up to 1.18, where the client sends commands as chat; the player needs the permission for `/tp`.
-- Try it: mitmcraft replay filters captures/session-1.8.jsonl --script examples/scripts/home.lua

on("serverbound and (position or position_look)", function(packet, session)
  session.vars.here = {x = packet.x, y = packet.y, z = packet.z}
end)

on('serverbound and chat and message == "!sethome"', function(packet, session)
  packet:drop()
  session.vars.home = session.vars.here
  log(session.player, "has a home")
end)

on('serverbound and chat and message == "!home"', function(packet, session)
  local home = session.vars.home
  if not home then
    packet:drop()
    return
  end
  packet.message = string.format("/tp %.2f %.2f %.2f", home.x, home.y, home.z)
end)
