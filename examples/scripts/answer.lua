-- Answers `!ping` in the chat. Neither the message nor the answer reaches the server.
-- Try it: mitmcraft replay filters captures/session-1.12.2.jsonl --script examples/scripts/answer.lua

local function say(session, text)
  if session.protocol >= 759 then -- 1.19
    session:send("client", "system_chat", {content = text, isActionBar = false})
  elseif session.protocol >= 735 then -- 1.16
    local nobody = "00000000-0000-0000-0000-000000000000"
    session:send("client", "chat", {message = {text = text}, position = 1, sender = nobody})
  else
    session:send("client", "chat", {message = {text = text}, position = 1})
  end
end

on('serverbound and (chat or chat_message) and message == "!ping"', function(packet, session)
  packet:drop()
  say(session, "pong")
end)
