-- Shows above the list of players how long they have played, every five seconds.
-- Try it: mitmcraft proxy localhost:25565 --script examples/scripts/tab-list.lua

every("5s", function(session)
  if session.state ~= "play" then return end
  local seconds = math.floor(session.time)
  local played = string.format("%d min %02d s", seconds // 60, seconds % 60)
  session:send("client", "playerlist_header", {
    header = '{"text":"through mitmcraft"}',
    footer = '{"text":"' .. played .. '"}',
  })
end)
