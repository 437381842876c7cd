---@meta mitmcraft

---A packet, in the callback that gets it. Its fields are read and set by name: `packet.message`.
---@class Packet
---@field pkt Properties What every packet has.
---@field fields table All fields, for packets with one named like a method.
local Packet = {}

---Does not forward the packet.
function Packet:drop() end

---Forwards other fields, or another packet of the same state and direction.
---@param packet string|table The name of the other packet, or the fields.
---@param fields? table Its fields.
function Packet:replace(packet, fields) end

---Forwards the packet later: `"200ms"`, `"5s"`. Packets behind it wait too, unless they may overtake it.
---@param time string
---@param reorder? boolean `true` lets later packets overtake it.
function Packet:delay(time, reorder) end

---Adds a remark to the packet's record.
---@param text string
function Packet:comment(text) end

---Adds a tag to the packet's record.
---@param text string
function Packet:tag(text) end

---@class Properties
---@field name? string The packet's name in its version.
---@field id? integer
---@field dir "clientbound"|"serverbound"
---@field state string
---@field size integer Bytes of id and fields.
---@field wire integer Bytes on the wire.
---@field n integer The packet's number in its session.
---@field time number Seconds since the session began.
---@field origin string
---@field protocol integer
---@field version string
---@field body? string Id and fields.
---@field error? string Why the packet does not decode.

---@class Session
---@field id integer The session's number.
---@field player? string
---@field client string The client's address.
---@field server? string The server's address.
---@field upstream string The server as the client named it, or as mitmcraft was told.
---@field protocol integer
---@field version string
---@field state string The state of packets to the client.
---@field time number Seconds since the session began.
---@field vars table Variables of this session. They stay when the script is reloaded.
local Session = {}

---Sends a packet of the present state.
---@param to "client"|"server"
---@param packet string The packet's name.
---@param fields? table
---@param options? {before: boolean} `before`: ahead of the packet of this callback.
function Session:send(to, packet, fields, options) end

---Disconnects the player.
---@param reason? string
function Session:kick(reason) end

---@class Timer
local Timer = {}

---Stops the timer.
function Timer:stop() end

---Calls a function for each packet that matches an expression.
---@param when string An expression: `"chat and serverbound"`.
---@param call fun(packet: any, session: Session)
function on(when, call) end

---Calls a function when a session begins, and in open sessions after a reload.
---@param call fun(session: Session)
function on_open(call) end

---Calls a function when a direction enters another state.
---@param call fun(session: Session)
function on_state(call) end

---Calls a function when the session ends.
---@param call fun(session: Session)
function on_close(call) end

---Calls a function again and again.
---@param time string `"10s"`
---@param call fun(session: Session)
---@return Timer
function every(time, call) end

---Calls a function once.
---@param time string `"5s"`
---@param call fun(session: Session)
---@return Timer
function after(time, call) end

---Prints values on stderr.
---@param ... any
function log(...) end

---Returns the text that a player reads of a chat component.
---@param component any
---@return string
function text(component) end

---Returns a part of a packet as plain tables, which may be kept.
---@param part any
---@return any
function copy(part) end

---@class Run
---@field vars table<string, number|string|boolean> Variables that all sessions share.
run = {}
