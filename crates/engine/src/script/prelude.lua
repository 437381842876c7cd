-- Functions that Lua's own are replaced by: those run for as long as they like, which no hook interrupts,
-- or they catch the error that ends a callback.
local exhausted = ...
local error, getmetatable, pcall, rawget, rawlen = error, getmetatable, pcall, rawget, rawlen
local setmetatable, type = setmetatable, type
local pack, unpack = table.pack, table.unpack

local function through(...)
  local message = exhausted()
  if message then error(message, 0) end
  return ...
end

function _G.pcall(...) return through(pcall(...)) end
-- The handler is called after the stack is unwound: one that never ends is no loop of handlers then.
function _G.xpcall(call, handler, ...)
  local results = pack(through(pcall(call, ...)))
  if results[1] then return unpack(results, 1, results.n) end
  local _, handled = through(pcall(handler, results[2]))
  return false, handled
end

function _G.setmetatable(t, meta)
  if type(meta) == "table" and rawget(meta, "__gc") ~= nil then
    error("a script has no finalizers: `__gc` is not allowed", 2)
  end
  return setmetatable(t, meta)
end

local function bounded(name, most)
  local call = table[name]
  table[name] = function(t, ...)
    if type(t) == "table" then
      if getmetatable(t) ~= nil then
        error("`table." .. name .. "` takes only a table without a metatable", 2)
      elseif rawlen(t) > most then
        error("`table." .. name .. "`: more than " .. most .. " elements", 2)
      end
    end
    return call(t, ...)
  end
end
bounded("concat", 100000)
bounded("insert", 100000)
bounded("remove", 100000)
bounded("sort", 10000)
bounded("unpack", 100000)

function table.move(from, first, last, to, into)
  into = into or from
  if first < to and from == into then
    for at = last - first, 0, -1 do into[to + at] = from[first + at] end
  else
    for at = 0, last - first do into[to + at] = from[first + at] end
  end
  return into
end
