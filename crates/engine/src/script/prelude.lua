-- Functions that Lua's own are replaced by: those run for as long as they like, which no hook interrupts,
-- or they catch the error that ends a callback. `charge` counts work as that many instructions, and ends the
-- callback once it has had its share. `shown` is the text of an error of the host.
local charge, shown = ...
local error, getmetatable, pcall, rawget, rawlen = error, getmetatable, pcall, rawget, rawlen
local select, setmetatable, tonumber, type = select, setmetatable, tonumber, type
local pack, unpack = table.pack, table.unpack

local function through(ok, err, ...)
  charge(0)
  if ok then return ok, err, ... end
  if err == "not enough memory" then error(err, 0) end
  return ok, shown(err)
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

-- What a few bytes cost is in the instructions of a call.
local function text(s)
  if type(s) == "string" and #s > 64 then charge(#s) end
end

-- The error of a function has the name and the line that the script knows.
local function need(name, s)
  if type(s) ~= "string" and type(s) ~= "number" then
    error("bad argument #1 to '" .. name .. "' (string expected, got " .. type(s) .. ")", 3)
  end
  text(s)
end

local function texts(library, ...)
  for _, name in ipairs {...} do
    local call = library[name]
    library[name] = function(s, ...)
      need(name, s)
      return call(s, ...)
    end
  end
end
texts(string, "lower", "packsize", "reverse", "unpack", "upper")
texts(utf8, "len", "offset")

function _G.tonumber(s, ...)
  text(s)
  return tonumber(s, ...)
end

-- The first argument and the result are read or written byte by byte.
local function written(library, ...)
  for _, name in ipairs {...} do
    local call = library[name]
    library[name] = function(s, ...)
      need(name, s)
      local result = call(s, ...)
      text(result)
      return result
    end
  end
end
written(string, "format", "pack")

local function several(...)
  local count = select("#", ...)
  if count > 16 then charge(count) end
  return ...
end
for library, names in pairs {[string] = {"byte", "char"}, [utf8] = {"char", "codepoint"}} do
  for _, name in ipairs(names) do
    local call = library[name]
    library[name] = function(...)
      several(...)
      return several(call(...))
    end
  end
end

-- `work` is what a call costs with so many elements.
local function bounded(name, most, work)
  local call = table[name]
  table[name] = function(t, ...)
    if type(t) == "table" then
      local count = rawlen(t)
      if getmetatable(t) ~= nil then
        error("`table." .. name .. "` takes only a table without a metatable", 2)
      elseif count > most then
        error("`table." .. name .. "`: more than " .. most .. " elements", 2)
      end
      local cost = work(count, ...)
      if cost > 64 then charge(cost) end
    end
    return call(t, ...)
  end
end
local function moved(count, at)
  at = tonumber(at)
  if at == nil or at < 1 or at > count then return 0 end
  return count - at // 1
end
bounded("concat", 100000, function(count) return 4 * count end)
bounded("insert", 100000, function(count, at, ...) return select("#", ...) > 0 and moved(count, at) or 0 end)
bounded("remove", 100000, moved)
bounded("sort", 10000, function(count) return 40 * count end)
bounded("unpack", 100000, function(count) return count end)

function table.move(from, first, last, to, into)
  into = into or from
  if first < to and from == into then
    for at = last - first, 0, -1 do into[to + at] = from[first + at] end
  else
    for at = 0, last - first do into[to + at] = from[first + at] end
  end
  return into
end
