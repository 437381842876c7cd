-- Translates a plugin channel: the server's brand gets a prefix. The payload is a text behind its length.
-- Try it: mitmcraft replay filters captures/session-1.8.jsonl --script examples/scripts/brand.lua

on('clientbound and custom_payload and (channel == "MC|Brand" or channel == "minecraft:brand")', function(packet)
  local length = packet.data:byte()
  local brand = "proxied " .. packet.data:sub(2, 1 + length)
  packet.data = string.char(#brand) .. brand
  packet:comment("brand translated")
end)
