-- Drops chat beyond three messages in five seconds, and disconnects who goes on to ten. `run.vars`
-- counts what was dropped in all sessions.
-- Try it: mitmcraft replay filters captures/session-1.8.jsonl --script examples/scripts/anti-spam.lua

local most, seconds, patience = 3, 5, 10

on("serverbound and (chat or chat_message)", function(packet, session)
  local vars, now = session.vars, packet.pkt.time
  local recent = {now}
  for _, time in ipairs(vars.said or {}) do
    if now - time < seconds then recent[#recent + 1] = time end
  end
  vars.said = recent
  if #recent > patience then
    session:kick("Too many messages")
  elseif #recent > most then
    packet:drop()
    packet:tag("spam")
    run.vars.spam = (run.vars.spam or 0) + 1
  end
end)

on_close(function(session)
  if run.vars.spam then log("messages dropped so far:", run.vars.spam) end
end)
