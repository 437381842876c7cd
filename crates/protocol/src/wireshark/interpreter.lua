-- What follows is the same for all versions: it walks a packet by its type table, as the proxy does,
-- and follows each connection's state.

local proto = Proto("minecraft", "Minecraft: Java Edition")

local byte, floor, sub = string.byte, math.floor, string.sub

local meta = {
  packet = ProtoField.string("minecraft.packet", "Packet"),
  id = ProtoField.uint32("minecraft.id", "Packet id", base.HEX),
  state = ProtoField.string("minecraft.state", "State"),
  direction = ProtoField.string("minecraft.direction", "Direction"),
  length = ProtoField.uint32("minecraft.length", "Length", base.DEC),
  inflated = ProtoField.uint32("minecraft.inflated", "Inflated length", base.DEC),
  version = ProtoField.int32("minecraft.version", "Protocol version", base.DEC),
  encrypted = ProtoField.bytes("minecraft.encrypted", "Encrypted data"),
  unknown = ProtoField.bytes("minecraft.unknown", "Data that is not understood"),
}

local undecoded = ProtoExpert.new("minecraft.undecoded", "Does not decode",
  expert.group.UNDECODED, expert.severity.WARN)
local guessed = ProtoExpert.new("minecraft.guess", "Another version's description is used",
  expert.group.ASSUMPTION, expert.severity.NOTE)
proto.experts = { undecoded, guessed }

-- Fields: "path class:suffix class:suffix" a line. F[path][class] is the field.
local F = {}

local make = {
  none = function(abbrev, name) return ProtoField.none(abbrev, name) end,
  bool = function(abbrev, name) return ProtoField.bool(abbrev, name) end,
  int = function(abbrev, name) return ProtoField.int32(abbrev, name, base.DEC) end,
  long = function(abbrev, name) return ProtoField.int64(abbrev, name, base.DEC) end,
  ulong = function(abbrev, name) return ProtoField.uint64(abbrev, name, base.DEC) end,
  float = function(abbrev, name) return ProtoField.float(abbrev, name) end,
  double = function(abbrev, name) return ProtoField.double(abbrev, name) end,
  text = function(abbrev, name) return ProtoField.string(abbrev, name) end,
  guid = function(abbrev, name) return ProtoField.guid(abbrev, name) end,
  bytes = function(abbrev, name) return ProtoField.bytes(abbrev, name) end,
}

do
  local all = {}
  for _, field in pairs(meta) do all[#all + 1] = field end
  for line in FIELDS:gmatch("[^\n]+") do
    local path, classes = line:match("^(%S+) (.*)$")
    local name = path:match("([^.]+)$")
    local fields = {}
    for class, suffix in classes:gmatch("(%a+):(%S*)") do
      local field = make[class]("minecraft." .. path .. suffix, name)
      fields[class] = field
      all[#all + 1] = field
    end
    F[path] = fields
  end
  proto.fields = all
end

-- Reading ------------------------------------------------------------------------------------------

-- `short`: more bytes may help.
local function fail(w, what, short)
  error({ what = what, at = w.at, short = short }, 0)
end

local function need(w, count)
  if count < 0 or w.at + count > w.size then
    local left = w.size - w.at
    fail(w, "ends too early: " .. count .. " bytes wanted, " .. left .. " left", count >= 0)
  end
end

local function u8(w)
  need(w, 1)
  local value = byte(w.s, w.at + 1)
  w.at = w.at + 1
  return value
end

-- Unsigned, of 1 to 4 bytes.
local function unsigned(w, count)
  need(w, count)
  local value = 0
  for i = 1, count do value = value * 256 + byte(w.s, w.at + i) end
  w.at = w.at + count
  return value
end

local function varint(w)
  local value, scale = 0, 1
  for _ = 1, 5 do
    local b = u8(w)
    value = value + (b % 128) * scale
    if b < 128 then
      value = value % 4294967296
      if value >= 2147483648 then value = value - 4294967296 end
      return value
    end
    scale = scale * 128
  end
  fail(w, "a VarInt of more than 5 bytes")
end

-- The low and the high 32 bits.
local function varlong(w)
  local parts, scale = { 0, 0, 0 }, 1
  for i = 0, 9 do
    local b = u8(w)
    local part = floor(i / 4) + 1
    if i % 4 == 0 then scale = 1 end
    parts[part] = parts[part] + (b % 128) * scale
    scale = scale * 128
    if b < 128 then
      local low = parts[1] + (parts[2] % 16) * 268435456
      local high = floor(parts[2] / 16) + (parts[3] % 256) * 16777216
      return low, high
    end
  end
  fail(w, "a VarLong of more than 10 bytes")
end

-- A 64-bit number as a Lua number, exact up to 2^53.
local function wide(low, high, signed)
  if signed and high >= 2147483648 then high = high - 4294967296 end
  return high * 4294967296 + low
end

-- Bits of a 64-bit number, `shift` from the right.
local function bits(low, high, shift, size, signed)
  local value
  if shift >= 32 then
    value = floor(high / 2 ^ (shift - 32)) % 2 ^ size
  elseif shift + size <= 32 then
    value = floor(low / 2 ^ shift) % 2 ^ size
  else
    local lower = 32 - shift
    value = (high % 2 ^ (size - lower)) * 2 ^ lower + floor(low / 2 ^ shift)
  end
  if signed and value >= 2 ^ (size - 1) then value = value - 2 ^ size end
  return floor(value)
end

-- Showing ------------------------------------------------------------------------------------------

local function name_of(path)
  return path:match("([^.]+)$")
end

local function show(tree, tvb, path, class, at, size, value)
  local fields = F[path]
  local field = fields and fields[class]
  local range = tvb:range(at, size)
  if field then return tree:add(field, range, value) end
  return tree:add(range, name_of(path) .. ": " .. tostring(value))
end

local function show_int(tree, tvb, path, at, size, value)
  local fields = F[path]
  if fields and fields.int then
    return tree:add(fields.int, tvb:range(at, size), value)
  end
  return show(tree, tvb, path, "long", at, size, Int64.new(value))
end

local function show_wide(tree, tvb, path, at, size, low, high, signed)
  if signed then
    return show(tree, tvb, path, "long", at, size, Int64.new(low, high))
  end
  return show(tree, tvb, path, "ulong", at, size, UInt64.new(low, high))
end

-- The bytes as the field has them; what is no text is replaced.
local function show_text(tree, tvb, path, at, size, encoding)
  local field = F[path] and F[path].text
  if field then return tree:add_packet_field(field, tvb:range(at, size), encoding) end
  return tree:add(tvb:range(at, size), name_of(path))
end

local function show_float(tree, tvb, path, at, size, value)
  local class = "double"
  if size == 4 and F[path] and F[path].float then class = "float" end
  return show(tree, tvb, path, class, at, size, value)
end

local function show_bytes(tree, tvb, path, at, size)
  local field = F[path] and F[path].bytes
  if field then return tree:add(field, tvb:range(at, size)) end
  return tree:add(tvb:range(at, size), name_of(path))
end

local function open_node(tree, tvb, path, at)
  local field = F[path] and F[path].none
  if field then return tree:add(field, tvb:range(at, 0)) end
  return tree:add(tvb:range(at, 0), name_of(path))
end

-- The path of a field: deep ones are the same in all packets.
local function child(node, name)
  if node.depth < LEVELS then
    return { path = node.path .. "." .. name, name = name, depth = node.depth + 1 }
  end
  return { path = "nested." .. node.name .. "." .. name, name = name, depth = LEVELS }
end

-- NBT ----------------------------------------------------------------------------------------------

local nbt_sizes = { 1, 2, 4, 8, 4, 8 }

local nbt_payload, name_in

local function nbt_text(w)
  local size = unsigned(w, 2)
  need(w, size)
  w.at = w.at + size
  return sub(w.s, w.at - size + 1, w.at)
end

-- Lists of enchantments by number.
local enchantments = { ench = true, StoredEnchantments = true }

-- Passes over a tag's payload and puts it into the tree as text. `enchants` is true in a list of
-- enchantments.
nbt_payload = function(w, tree, kind, label, levels, enchants)
  if levels == 0 then fail(w, "NBT of more than 512 levels") end
  local at = w.at
  if kind >= 1 and kind <= 6 then
    need(w, nbt_sizes[kind])
    w.at = at + nbt_sizes[kind]
    if not tree then return end
    local range = w.tvb:range(at, nbt_sizes[kind])
    local value
    if kind == 4 then value = tostring(range:int64())
    elseif kind >= 5 then value = tostring(range:float())
    else value = tostring(range:int()) end
    local item = tree:add(range, label .. ": " .. value)
    local name = enchants and label == "id" and w.version
      and name_in(w.version, "enchantment", tonumber(value))
    if name then item:append_text(" (" .. name .. ")") end
  elseif kind == 7 or kind == 11 or kind == 12 then
    local count = unsigned(w, 4)
    local size = count * (kind == 7 and 1 or kind == 11 and 4 or 8)
    need(w, size)
    w.at = w.at + size
    if tree then tree:add(w.tvb:range(at, w.at - at), label .. ": [" .. count .. "]") end
  elseif kind == 8 then
    local text = nbt_text(w)
    if tree then tree:add(w.tvb:range(at, w.at - at), label .. ": " .. text:gsub("[%z\1-\31]", "?")) end
  elseif kind == 9 then
    local of, count = u8(w), unsigned(w, 4)
    if count >= 2147483648 then count = 0 end
    if of == 0 then
      if count > 0 then fail(w, "an NBT list of nothing with elements") end
      return
    end
    local list = tree and tree:add(w.tvb:range(at, 0), label .. ": [" .. count .. "]")
    for i = 0, count - 1 do
      nbt_payload(w, i < MAX_SHOWN and list or nil, of, "[" .. i .. "]", levels - 1,
        enchants or enchantments[label])
    end
    if list then list:set_len(w.at - at) end
  elseif kind == 10 then
    local map = tree and tree:add(w.tvb:range(at, 0), label)
    while true do
      local of = u8(w)
      if of == 0 then break end
      local name = nbt_text(w)
      nbt_payload(w, map, of, name:gsub("[%z\1-\31]", "?") .. "", levels - 1, enchants)
    end
    if map then map:set_len(w.at - at) end
  else
    fail(w, "NBT has no type " .. kind)
  end
end

-- Meanings -----------------------------------------------------------------------------------------

for number, version in pairs(VERSIONS) do version.number = number end
-- What numbers mean is not known of older versions.
for _, version in pairs(OLD) do version.number = -1 end

local name_lines, registries = {}, {}
for line in NAME_LINES:gmatch("[^\n]+") do name_lines[#name_lines + 1] = line end

-- The names of a line: parts of another line, as `start+count`, and its own.
local tokens_of = {}
local function tokens(number)
  if tokens_of[number] then return tokens_of[number] end
  local list, base = {}, nil
  for token in name_lines[number + 1]:gmatch("%S+") do
    local other = token:match("^<(%d+)$")
    local start, count = token:match("^(%d+)%+(%d+)$")
    if other then
      base = tokens(tonumber(other))
    elseif start then
      for i = 1, tonumber(count) do list[#list + 1] = base[tonumber(start) + i] end
    else
      list[#list + 1] = token
    end
  end
  tokens_of[number] = list
  return list
end

-- The names in the text of a description.
local function split(text)
  local list = {}
  for token in text:gmatch("[^ ]+") do list[#list + 1] = token end
  return list
end

-- The first number of each name, in order, and the names; a block has a number for each state.
-- A version has the number of a line, or the text of its own description.
local function registry(version, kind)
  local names = NAMES[version] and NAMES[version][kind]
  if not names then return nil end
  if registries[names] then return registries[names] end
  local found, next = { first = {}, name = {} }, 0
  for _, token in ipairs(type(names) == "string" and split(names) or tokens(names)) do
    local at = token:match("^@(%d+)$")
    if at then
      next = tonumber(at)
    else
      local name, properties = token:match("^([^%[]+)%[?([^%]]*)")
      found.first[#found.first + 1] = next
      found.name[#found.name + 1] = name
      local count = 1
      for values in properties:gmatch("=([^;]+)") do
        count = count * (select(2, values:gsub(",", "")) + 1)
      end
      next = next + count
    end
  end
  found.last = next - 1
  registries[names] = found
  return found
end

name_in = function(version, kind, number)
  local found = registry(version, kind)
  if not found or number < 0 or number > found.last then return nil end
  local low, high = 1, #found.first
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if found.first[middle] <= number then low = middle else high = middle - 1 end
  end
  if found.first[low] > number then return nil end
  -- Blocks have all numbers; other registries may have gaps.
  if kind ~= "block" and found.first[low] ~= number then return nil end
  return found.name[low]
end

local function rounded(number)
  local text = string.format(math.abs(number) < 1 and "%.3f" or "%.2f", number)
  text = text:gsub("0+$", ""):gsub("%.$", "")
  return text == "-0" and "0" or text
end

local function time_of_day(ticks)
  local time = ticks % 24000
  return string.format("%02d:%02d", floor(time / 1000 + 6) % 24, floor(time % 1000 * 60 / 1000))
end

-- Numbers in the forms that are no factors; nil if the number has none.
local forms = {
  ["time of day"] = time_of_day,
  ["time of day or fixed"] = function(number)
    return time_of_day(math.abs(number)) .. (number < 0 and ", fixed" or "")
  end,
  ["plus 1"] = function(number) return number == 0 and "none" or string.format("%d", number - 1) end,
  ["level above 1"] = function(number) return string.format("level %d", number + 1) end,
  ["size less 1"] = function(number) return string.format("%d", number + 1) end,
  ["sections"] = function(number)
    local runs, count = {}, 0
    for bit = 0, 63 do
      if floor(number / 2 ^ bit) % 2 == 1 then
        count = count + 1
        local last = runs[#runs]
        if last and last[2] == bit - 1 then last[2] = bit else runs[#runs + 1] = { bit, bit } end
      end
    end
    if count == 0 then return "no sections" end
    for i, run in ipairs(runs) do
      runs[i] = run[1] == run[2] and string.format("%d", run[1]) or string.format("%d-%d", run[1], run[2])
    end
    return (count == 1 and "section " or "sections ") .. table.concat(runs, ", ")
  end,
  ["of 250"] = function(number) return rounded(number * 250) .. "/250" end,
  ["unix ms"] = function(number)
    if number < 946684800000 or number >= 4102444800000 then return nil end
    return os.date("!%Y-%m-%dT%H:%M:%S", floor(number / 1000)) .. string.format(".%03dZ", number % 1000)
  end,
  ["color"] = function(number) return string.format("#%06x", number % 16777216) end,
  ["game version"] = function(number) return GAMES[number] end,
}

-- What a number means; nil if nothing.
local function describe_number(version, meaning, number)
  local int = number == floor(number)
  local set = {}
  if meaning.flags and int then
    local rest = number % 4294967296
    for _, flag in ipairs(meaning.flags) do
      if floor(rest / flag[1]) % 2 == 1 then
        set[#set + 1] = flag[2]
        rest = rest - flag[1]
      end
    end
    if meaning.values and meaning.values[rest] then table.insert(set, 1, meaning.values[rest]) end
    if #set > 0 then return table.concat(set, ", ") end
    return number == 0 and "none" or nil
  end
  local value = int and meaning.values and meaning.values[floor(number)]
  if value then return value end
  for _, range in ipairs(meaning.ranges or {}) do
    local limit = range[2]
    if range[1] == "<" and number < limit or range[1] == "<=" and number <= limit
      or range[1] == ">" and number > limit then
      return range[3]
    end
  end
  if meaning.per then return rounded(number / meaning.per) .. (meaning.unit == " blocks" and "" or meaning.unit) end
  if meaning.most then return rounded(number) .. "/" .. meaning.most end
  local text = meaning.form and forms[meaning.form](number)
  if text or not int then return text or meaning.other end
  if meaning.bits then
    local left = 0
    for _, part in ipairs(meaning.bits) do left = left + part[1] end
    for _, part in ipairs(meaning.bits) do
      left = left - part[1]
      local bits = floor(number / 2 ^ left) % 2 ^ part[1]
      local name = part[3] and name_in(version, part[3], bits)
      if part[3] then
        table.insert(set, 1, name or string.format("%s %.0f", part[2], bits))
      elseif bits ~= 0 or part[2] ~= "data" then
        local known = part[4] and part[4][floor(bits) + 1]
        set[#set + 1] = known or string.format("%s %.0f", part[2], bits)
      end
    end
    return table.concat(set, ", ")
  end
  if meaning.names then
    local name = name_in(version, meaning.names, number)
    if name then return name end
  end
  if meaning.kinds then
    local found = registry(version, "block")
    if found and found.name[number + 1] then return found.name[number + 1] end
  end
  return meaning.other
end

-- The place of a version in the history of the game, where a snapshot since 1.16.4 stands between two
-- releases.
local function place(version)
  if version < 1073741824 then return version end
  local before = 0
  for _, it in ipairs(SNAPSHOTS) do
    if it[2] <= version then before = math.max(before, it[1]) end
  end
  return before + (version - 1073741823) / 2147483648
end

-- The meanings of fields by their paths, in a version and a direction.
local meanings_of = {}
local function meanings(version, direction)
  local key = version .. direction
  if meanings_of[key] then return meanings_of[key] end
  local side = direction == "clientbound" and "C" or "S"
  local at = place(version)
  local found = {}
  for of, first, last, path, number in USES:gmatch("(%a) (%S+) (%S+) (%S+) (%d+)\n") do
    local is_over = last ~= "-" and place(tonumber(last)) < at
    if of == side and place(tonumber(first)) <= at and not is_over then
      found[path] = found[path] or {}
      table.insert(found[path], MEANINGS[tonumber(number)])
    end
  end
  meanings_of[key] = found
  return found
end

local function without_namespace(name)
  return name:match("^minecraft:(.*)$") or name
end

-- The meanings of a field, whatever other fields say.
local function meanings_at(w, path)
  local all = w.meanings[path]
  if all then return all end
  local outer, name = path:match("^(.*)%.([^.]+)$")
  return outer and outer:find(".", 1, true) and w.meanings["*." .. name] or nil
end

-- The value on which a condition depends, and its name: that of another field, of the window that is
-- open, or of the place in a list.
local function known(w, path, field)
  if field == "(window)" then
    return nil, w.window and w.window.number == w.root.windowId and w.window.kind or nil
  end
  if field == "(position)" then return w.index, nil end
  local sibling = field:match("^%*%.(.*)$")
  local place = sibling and path:match("^(.*)%.") .. "." .. sibling or path:match("^[^.]+") .. "." .. field
  local seen = w.seen[place]
  if type(seen) == "string" then return nil, seen, place end
  if type(seen) == "table" then return seen[1], seen[2], place end
  if not seen then return nil, nil, place end
  for _, meaning in ipairs(meanings_at(w, place) or {}) do
    local name = meaning.values and meaning.values[seen]
      or meaning.names and name_in(w.version, meaning.names, seen)
      or meaning.kinds and (registry(w.version, "block") or { name = {} }).name[seen + 1]
    if name then return seen, name, place end
  end
  return seen, nil, place
end

-- Whether a condition holds; nil and the place of a field if that comes later.
local function holds(w, path, condition)
  local place
  for _, field in ipairs(condition[1]) do
    local number, name, at = known(w, path, field)
    if number and condition[2][number] or name and condition[2][name] then return true end
    if number or name then return false end
    place = place or at
  end
  if condition[3] then return nil, place end
  return false
end

-- Adds what a number means to its line in the tree.
local function annotate(w, item, path, number)
  if not w.meanings then return end
  local waits
  for _, meaning in ipairs(meanings_at(w, path) or {}) do
    local all = true
    for _, condition in ipairs(meaning.when or {}) do
      local yes, place = holds(w, path, condition)
      if yes == nil then waits = place end
      all = all and yes
    end
    if waits then break end
    if all then
      local text = describe_number(w.version, meaning, number)
      if text then item:append_text(" (" .. text .. ")") end
      break
    end
  end
  if waits then
    w.waiting[waits] = w.waiting[waits] or {}
    table.insert(w.waiting[waits], { item, path, number })
  end
  w.seen[path] = number
  local waiting = w.waiting[path]
  w.waiting[path] = nil
  for _, it in ipairs(waiting or {}) do annotate(w, it[1], it[2], it[3]) end
end

-- Walking ------------------------------------------------------------------------------------------

local value

-- What a path leads to: a number, a text, a boolean, the name of a mapped number in a table; nil when there
-- is no such field.
local function find(w, path, mark)
  local from, to = mark.start, #w.scope
  if path[1] ~= 0 then from, to = mark.parent, mark.start end
  for i = to, from + 1, -1 do
    local entry = w.scope[i]
    if entry[1] == path[2] then
      local seen, part = entry[2], path[3]
      if type(seen) ~= "table" or seen.name then
        if part then return nil end
        return seen
      end
      if not part then return wide(seen.low, seen.high, true) end
      local ty = seen.ty
      if ty[1] == 19 then
        for _, flag in ipairs(ty[3]) do
          if flag[1] == part then return seen.set(flag[2]) end
        end
        return nil
      end
      local left = ty[3]
      for _, it in ipairs(ty[2]) do
        left = left - it[2]
        if it[1] == part then return bits(seen.low, seen.high, left, it[2], it[3]) end
      end
      return nil
    end
  end
  return nil
end

-- An integer of a type: its value for comparisons; low and high for what is wider than 32 bits.
local function integer(w, ty)
  local kind = ty[1]
  if kind == 6 then return varint(w) end
  if kind == 7 then
    local low, high = varlong(w)
    return wide(low, high, true), low, high
  end
  local count, signed, little = ty[2], ty[3], ty[4]
  need(w, count)
  local masked = w.mask == w.at
  local s, at = w.s, w.at
  w.at = at + count
  local low, high = 0, 0
  for i = 0, count - 1 do
    local b = byte(s, little and at + i + 1 or at + count - i)
    if masked and (little and i == 0 or not little and i == count - 1) then b = b % 128 end
    if i < 4 then low = low + b * 256 ^ i else high = high + b * 256 ^ (i - 4) end
  end
  low, high = floor(low), floor(high)
  if count == 8 then return wide(low, high, signed), low, high end
  if signed and low >= 256 ^ count / 2 then low = floor(low - 256 ^ count) end
  return low
end

-- How many, checked against the bytes that are left.
local function count_of(w, count, size, mark)
  local number
  if count[1] == 0 then
    number = count[2]
  elseif count[1] == 1 then
    number = integer(w, w.types[count[2]])
  else
    number = find(w, count[2], mark)
    if type(number) ~= "number" then number = 0 end
  end
  -- Forge for 1.7: the bits above a short, in a byte
  local ty = number < 0 and size == 1 and count[1] == 1 and w.types[count[2]]
  if ty and ty[1] == 3 and ty[2] == 2 and w.at < w.size then
    local long = w.s:byte(w.at + 1) * 32768 + number + 32768
    if long <= w.size - w.at - 1 then
      w.at = w.at + 1
      number = long
    end
  end
  if number < 0 then fail(w, "a length of " .. number) end
  if size > 0 and number * size > w.size - w.at then
    fail(w, "a length of " .. number .. ", which is more than there is", true)
  end
  if size == 0 then
    w.empty = w.empty - number
    if w.empty < 0 then fail(w, "a list of " .. number .. " elements without bytes") end
  end
  return number
end

local function elements(w, count, id, tree, node, mark, at)
  local list = tree:add(w.tvb:range(at, 0), node.name .. ": [" .. count .. "]")
  for i = 0, count - 1 do
    w.index = i
    value(w, id, list, node, mark, false)
  end
  list:set_len(w.at - at)
end

local function show_integer(w, ty, tree, node, at)
  local number, low, high = integer(w, ty)
  if high then
    local item = show_wide(tree, w.tvb, node.path, at, w.at - at, low, high, ty[1] == 7 or ty[3])
    annotate(w, item, node.path, number)
    if ty[1] ~= 7 and not ty[3] and high >= 2147483648 then return nil end
  else
    annotate(w, show_int(tree, w.tvb, node.path, at, w.at - at, number), node.path, number)
  end
  return number
end

local ops = {}

-- void
ops[1] = function() return nil end

-- bool
ops[2] = function(w, ty, tree, node)
  local at = w.at
  local set = u8(w) ~= 0
  show(tree, w.tvb, node.path, "bool", at, 1, set)
  w.seen[node.path] = set and 1 or 0
  return set
end

-- int, varint, varlong
local function op_integer(w, ty, tree, node)
  return show_integer(w, ty, tree, node, w.at)
end
ops[3], ops[6], ops[7] = op_integer, op_integer, op_integer

-- f32, f64
local function op_float(w, ty, tree, node)
  local size = ty[1] == 4 and 4 or 8
  need(w, size)
  local at = w.at
  w.at = at + size
  local float = w.tvb:range(at, size):float()
  annotate(w, show_float(tree, w.tvb, node.path, at, size, float), node.path, float)
  return nil
end
ops[4], ops[5] = op_float, op_float

-- uuid
ops[8] = function(w, ty, tree, node)
  need(w, 16)
  local at = w.at
  w.at = at + 16
  local field = F[node.path] and F[node.path].guid
  if field then tree:add(field, w.tvb:range(at, 16)) end
  return nil
end

local encodings = { ENC_UTF_8, ENC_UTF_16 + ENC_BIG_ENDIAN, ENC_ISO_8859_1 }

-- The fields with what is said, for the Info column.
local SAID = {}
for _, path in ipairs({ "chat.message", "chat_message.message", "chat_command.command",
  "chat_command_signed.command", "player_chat.plainMessage", "profileless_chat.message",
  "system_chat.content" }) do
  SAID[path] = true
end

-- Components are texts, lists, or tables of their fields.

local function utf8_of(code)
  if code < 128 then return string.char(code) end
  local rest, lead = "", 64
  while code >= lead do
    rest = string.char(128 + code % 64) .. rest
    code, lead = floor(code / 64), lead == 64 and 32 or lead / 2
  end
  return string.char(256 - 2 * lead + code) .. rest
end

local ESCAPED = { b = " ", f = " ", n = " ", r = " ", t = " " }

-- Returns the text of a JSON string from behind its first quote on, and the place behind it.
local function json_text(s, at)
  local parts = {}
  while true do
    local stop = s:find('["\\]', at) or error("text without its end", 0)
    parts[#parts + 1] = sub(s, at, stop - 1)
    if byte(s, stop) == 34 then return table.concat(parts), stop + 1 end
    local kind, code = s:match("^(.)(%x?%x?%x?%x?)", stop + 1)
    at = stop + 2
    if kind == "u" and #code == 4 then
      code, at = tonumber(code, 16), at + 4
      local low = code >= 55296 and code < 56320 and s:match("^\\u([dD][c-fC-F]%x%x)", at)
      if low then
        code, at = 65536 + (code - 55296) * 1024 + tonumber(low, 16) - 56320, at + 6
      end
      parts[#parts + 1] = utf8_of(code)
    else
      parts[#parts + 1] = ESCAPED[kind] or kind or ""
    end
  end
end

-- Returns a value of JSON, in which numbers are texts, and the place behind it.
local function json_value(s, at, levels)
  if levels == 0 then error("too many levels", 0) end
  at = s:find("%S", at) or error("no value", 0)
  local open = sub(s, at, at)
  if open == '"' then return json_text(s, at + 1) end
  local close = open == "{" and "}" or open == "[" and "]"
  if not close then
    local plain, behind = s:match("^([%w+.-]+)()", at)
    return plain == "null" and "" or plain or error("no value", 0), behind
  end
  local it, sign = {}, nil
  local behind = s:match("^%s*%" .. close .. "()", at + 1)
  if behind then return it, behind end
  at = at + 1
  repeat
    local key = #it + 1
    if open == "{" then
      key, at = json_value(s, at, levels - 1)
      at = s:match("^%s*:()", at) or error("no colon", 0)
    end
    it[key], at = json_value(s, at, levels - 1)
    sign, at = s:match("^%s*([,%]}])()", at)
  until sign ~= ","
  if sign ~= close then error("no end", 0) end
  return it, at
end

-- Returns a component in NBT that was passed over already.
local function nbt_component(w, kind)
  if kind == 8 then return nbt_text(w) end
  local it, at = {}, w.at
  if kind == 9 then
    local of, count = u8(w), unsigned(w, 4)
    if of == 0 or count >= 2147483648 then return it end
    for place = 1, count do it[place] = nbt_component(w, of) end
    return it
  elseif kind == 10 then
    while true do
      local of = u8(w)
      if of == 0 then return it end
      local name = nbt_text(w)
      it[name] = nbt_component(w, of)
    end
  end
  nbt_payload(w, nil, kind, "", 512)
  if kind > 4 then return "" end
  local range = w.tvb:range(at, w.at - at)
  return tostring(kind == 4 and range:int64() or range:int())
end

-- Adds the texts of a component to `parts`, as the game puts them together.
local function add_texts(parts, component, levels)
  if type(component) ~= "table" or levels == 0 then
    if type(component) == "string" then parts[#parts + 1] = component end
    return
  end
  local function add(inner) add_texts(parts, inner, levels - 1) end
  for _, part in ipairs(component) do add(part) end
  local key, with, score = component.translate, component.with, component.score
  if type(with) ~= "table" then with = {} end
  if type(score) ~= "table" then score = {} end
  if type(key) ~= "string" then
    add(component.text or component[""] or component.selector or component.keybind or score.value
      or score.name)
    return add(component.extra)
  end
  local pattern = TRANSLATIONS[key] or component.fallback
  if type(pattern) ~= "string" then
    pattern = key:gsub("%%", "%%%%") .. (" %s"):rep(#with)
  end
  local count, at = 0, 1
  while true do
    local sign = pattern:find("%", at, true)
    parts[#parts + 1] = sub(pattern, at, sign and sign - 1)
    if not sign then break end
    -- The next argument, or the one with this number.
    local place, behind = pattern:match("^(%d+)%$s()", sign + 1)
    behind = behind or pattern:match("^s()", sign + 1)
    if behind then
      if not place then count, place = count + 1, count + 1 end
      add(with[tonumber(place)])
    else
      parts[#parts + 1] = "%"
    end
    at = behind or pattern:match("^%%?()", sign + 1)
  end
  add(component.extra)
end

-- What a component says.
local function said(component)
  local parts = {}
  add_texts(parts, component, 64)
  return table.concat(parts)
end

-- What a text says, which may be a component in JSON.
local function said_by_text(text)
  if not text:find('^%s*[{%["]') then return text end
  local ok, component, behind = pcall(json_value, text, 1, 64)
  if ok and not text:find("%S", behind) then return said(component) end
  return text
end

local function text(w, tree, node, size, encoding)
  local at = w.at
  need(w, size)
  w.at = at + size
  show_text(tree, w.tvb, node.path, at, size, encodings[encoding])
  if SAID[node.path] and size > 0 then
    local range = w.tvb:range(at, size)
    w.said = said_by_text(encoding == 2 and range:ustring() or range:string(encodings[encoding]))
  end
  if encoding == 2 then return nil end
  local seen = sub(w.s, at + 1, w.at)
  w.seen[node.path] = without_namespace(seen)
  return seen
end

-- text behind its length
ops[9] = function(w, ty, tree, node, mark)
  local count = count_of(w, ty[2], ty[4], mark)
  return text(w, tree, node, count * ty[4], ty[3])
end

-- text up to a NUL
ops[10] = function(w, ty, tree, node)
  local stop = w.s:find("\0", w.at + 1, true)
  if not stop then fail(w, "text without its end", true) end
  local seen = text(w, tree, node, stop - w.at - 1, ty[2])
  w.at = w.at + 1
  return seen
end

-- buffer
ops[11] = function(w, ty, tree, node, mark)
  local count = count_of(w, ty[2], 1, mark)
  show_bytes(tree, w.tvb, node.path, w.at, count)
  w.at = w.at + count
  return nil
end

-- all that is left
ops[12] = function(w, ty, tree, node)
  show_bytes(tree, w.tvb, node.path, w.at, w.size - w.at)
  w.at = w.size
  return nil
end

-- text up to the end
ops[30] = function(w, ty, tree, node)
  return text(w, tree, node, w.size - w.at, 1)
end

-- texts up to the end, a NUL between them
ops[31] = function(w, ty, tree, node)
  local at = w.at
  local list = tree:add(w.tvb:range(at, 0), node.name)
  while w.at < w.size do
    local stop = w.s:find("\0", w.at + 1, true) or w.size + 1
    text(w, list, node, stop - w.at - 1, 1)
    w.at = math.min(stop, w.size)
  end
  list:set_len(w.at - at)
  return nil
end

-- text between marks
ops[32] = function(w, ty, tree, node)
  local at, starts = w.at, ty[2]
  if sub(w.s, at + 1, at + #starts) == starts then at = at + #starts end
  local stop, mark = w.size, ""
  for _, ending in ipairs(ty[3]) do
    local found = w.s:find(ending, at + 1, true)
    if found and found - 1 < stop and found - 1 + #ending <= w.size then
      stop, mark = found - 1, ending
    end
  end
  w.at = at
  local seen = text(w, tree, node, stop - at, 1)
  if ty[4] then w.at = w.at + #mark end
  return seen
end

-- container
ops[13] = function(w, ty, tree, node, mark, inside)
  local scope = w.scope
  local own = { start = #scope, parent = mark.start }
  local at, into, root = w.at, tree, node.depth == 0 and w.root
  if not inside then
    into = open_node(tree, w.tvb, node.path, at)
    if w.index then into:append_text(" [" .. w.index .. "]") end
  end
  w.index = nil
  for _, field in ipairs(ty[2]) do
    local name, symbol = field[1], field[3]
    local seen
    if name then
      w.where = name
      seen = value(w, field[2], into, child(node, name), own, false)
      if root then root[name] = type(seen) == "table" and seen.name or seen end
    else
      seen = value(w, field[2], into, node, own, true)
    end
    if symbol then scope[#scope + 1] = { symbol, seen } end
  end
  for i = #scope, own.start + 1, -1 do scope[i] = nil end
  if not inside then into:set_len(w.at - at) end
  return nil
end

-- switch: path, numbers, texts, case of negative numbers, default, and the path as a text if a number or text
-- without a case is one that the version does not have
ops[14] = function(w, ty, tree, node, mark, inside)
  local on = find(w, ty[2], mark)
  local case
  if type(on) == "boolean" then
    case = ty[4][tostring(on)] or ty[3][on and 1 or 0]
  elseif type(on) == "number" then
    case = ty[3][on]
    if not case and on < 0 then case = ty[5] end
  elseif type(on) == "string" then
    case = ty[4][on]
  elseif type(on) == "table" then
    case = ty[4][on.name]
  end
  if not case and ty[7] and (type(on) == "number" or type(on) == "string") then
    local shown = type(on) == "number" and string.format("%d", on) or on:sub(1, 100)
    fail(w, ty[7] .. " is " .. shown .. ", which this version does not have")
  end
  return value(w, case or ty[6], tree, node, mark, inside)
end

-- array
ops[15] = function(w, ty, tree, node, mark)
  local at = w.at
  elements(w, count_of(w, ty[2], ty[4], mark), ty[3], tree, node, mark, at)
  return nil
end

-- option
ops[16] = function(w, ty, tree, node, mark)
  if u8(w) == 0 then return nil end
  return value(w, ty[2], tree, node, mark, false)
end

-- there if bytes are left that begin so
ops[17] = function(w, ty, tree, node, mark, inside)
  local rest = sub(w.s, w.at + 1)
  if rest == "" or sub(rest, 1, #ty[3]) ~= ty[3] then
    if ty[4] then return value(w, ty[4], tree, node, mark, inside) end
    return nil
  end
  return value(w, ty[2], tree, node, mark, inside)
end

-- bitfield: parts and the bits of all
ops[18] = function(w, ty, tree, node, mark, inside)
  local at, size = w.at, ty[3] / 8
  need(w, size)
  local low, high = 0, 0
  for i = 1, size do
    local b = byte(w.s, at + i)
    high = high * 256 % 4294967296 + floor(low / 16777216)
    low = low * 256 % 4294967296 + b
  end
  w.at = at + size
  local into = tree
  if not inside then
    into = open_node(tree, w.tvb, node.path, at)
    into:set_len(size)
  end
  w.index = nil
  local left = ty[3]
  for _, it in ipairs(ty[2]) do
    left = left - it[2]
    local path = child(node, it[1]).path
    if it[2] > 32 or it[2] == 32 and not it[3] then
      if it[2] == 64 then
        show(into, w.tvb, path, "long", at, size, Int64.new(low, high))
      else
        show(into, w.tvb, path, "long", at, size, Int64.new(bits(low, high, left, it[2], it[3])))
      end
    else
      local number = bits(low, high, left, it[2], it[3])
      annotate(w, show_int(into, w.tvb, path, at, size, number), path, number)
    end
    if it[4] and inside then
      w.scope[#w.scope + 1] = { it[4], bits(low, high, left, it[2], it[3]) }
    end
  end
  return { low = low, high = high, ty = ty }
end

-- flags: number, flags with their bits, bits that the number has, bits with a name
ops[19] = function(w, ty, tree, node)
  local at = w.at
  local number, low, high = integer(w, w.types[ty[2]])
  if not high then
    low, high = number % 4294967296, 0
    if number < 0 and w.types[ty[2]][1] == 3 then low = number % 256 ^ w.types[ty[2]][2] end
  end
  local function set(which)
    for _, bit in ipairs(which) do
      if bits(low, high, bit, 1) == 0 then return false end
    end
    return true
  end
  local size = w.at - at
  local into = open_node(tree, w.tvb, node.path, at)
  into:set_len(size)
  w.index = nil
  local named = {}
  for _, flag in ipairs(ty[3]) do
    local on = set(flag[2])
    if on then for _, bit in ipairs(flag[2]) do named[bit] = true end end
    show(into, w.tvb, child(node, flag[1]).path, "bool", at, size, on)
  end
  local rest = 0
  for bit = 0, 63 do
    if not named[bit] and bits(low, high, bit, 1) == 1 then rest = rest + 2 ^ bit end
  end
  if rest ~= 0 then
    show(into, w.tvb, child(node, "_rest").path, "long", at, size, Int64.new(rest))
  end
  return { low = low, high = high, ty = ty, set = set }
end

-- mapper: number and names
ops[20] = function(w, ty, tree, node)
  local at = w.at
  local number = integer(w, w.types[ty[2]])
  local name = ty[3][number]
  show(tree, w.tvb, node.path, "text", at, w.at - at, name or string.format("%d", number))
  w.seen[node.path] = name and { number, without_namespace(name) } or number
  return name and { name = name } or number
end

-- a number that counts another field's elements
ops[21] = function(w, ty, tree, node)
  return show_integer(w, w.types[ty[2]], tree, node, w.at)
end

-- nbt
ops[22] = function(w, ty, tree, node)
  local at = w.at
  local kind = u8(w)
  if kind == 0 then return nil end
  local name = "NBT"
  if ty[2] then nbt_text(w) end
  local start = w.at
  nbt_payload(w, nil, kind, name, 512)
  local size = w.at - at
  local item = show_bytes(tree, w.tvb, node.path, at, size)
  if size <= MAX_NBT then
    local again = { s = w.s, tvb = w.tvb, at = start, size = w.size, version = w.version }
    nbt_payload(again, item, kind, name, 512)
    if SAID[node.path] then
      again.at = start
      w.said = said(nbt_component(again, kind))
    end
  end
  return nil
end

-- nbt in gzip behind a 16-bit length
ops[23] = function(w, ty, tree, node)
  local size = unsigned(w, 2)
  if size >= 32768 and not ty[2] then return nil end
  need(w, size)
  show_bytes(tree, w.tvb, node.path, w.at, size)
  w.at = w.at + size
  return nil
end

-- elements until an end mark
ops[24] = function(w, ty, tree, node, mark)
  local at = w.at
  local list = tree:add(w.tvb:range(at, 0), node.name)
  local index = 0
  while true do
    need(w, 1)
    if byte(w.s, w.at + 1) == ty[2] then break end
    local before = w.at
    w.index = index
    value(w, ty[3], list, node, mark, false)
    if w.at == before then fail(w, "an element without bytes") end
    index = index + 1
  end
  w.at = w.at + 1
  list:set_len(w.at - at)
  return nil
end

-- elements that say whether another follows
ops[25] = function(w, ty, tree, node, mark)
  local at = w.at
  local list = tree:add(w.tvb:range(at, 0), node.name)
  local index = 0
  repeat
    need(w, 1)
    local more = byte(w.s, w.at + 1) >= 128
    w.mask, w.index = w.at, index
    value(w, ty[2], list, node, mark, false)
    index = index + 1
  until not more
  w.mask = nil
  list:set_len(w.at - at)
  return nil
end

-- a reference, or the thing itself
ops[26] = function(w, ty, tree, node, mark)
  local at = w.at
  local number = varint(w)
  local size = w.at - at
  local into = open_node(tree, w.tvb, node.path, at)
  w.index = nil
  if number ~= 0 then
    local path = child(node, ty[2]).path
    annotate(w, show_int(into, w.tvb, path, at, size, number - 1), path, number - 1)
  else
    value(w, ty[4], into, child(node, ty[3]), mark, false)
  end
  into:set_len(w.at - at)
  return nil
end

-- a tag's name, or entries
ops[27] = function(w, ty, tree, node, mark)
  local at = w.at
  local number = varint(w)
  local into = open_node(tree, w.tvb, node.path, at)
  w.index = nil
  if number == 0 then
    value(w, ty[3], into, child(node, ty[2]), mark, false)
  else
    local count = count_of(w, { 0, number - 1 }, ty[6], mark)
    elements(w, count, ty[5], into, child(node, ty[4]), mark, at)
  end
  into:set_len(w.at - at)
  return nil
end

-- three quantised numbers of one scale
ops[28] = function(w, ty, tree, node)
  local at = w.at
  local first = u8(w)
  local parts = { 0, 0, 0 }
  if first ~= 0 then
    local low = first + u8(w) * 256
    local high = unsigned(w, 4)
    local scale = first % 4
    if floor(first / 4) % 2 == 1 then scale = scale + (varint(w) % 4294967296) * 4 end
    -- 16 bits below, 32 above.
    local bottom, top = (high % 65536) * 65536 + low, floor(high / 65536)
    for i, shift in ipairs({ 3, 18, 33 }) do
      local quantised = math.min(bits(bottom, top, shift, 15), 32766)
      parts[i] = (quantised * 2 / 32766 - 1) * scale
    end
  end
  local size = w.at - at
  local into = open_node(tree, w.tvb, node.path, at)
  into:set_len(size)
  w.index = nil
  for i, name in ipairs({ "x", "y", "z" }) do
    show(into, w.tvb, child(node, name).path, "double", at, size, parts[i])
  end
  return nil
end

-- text whose parts are fields too: the text
ops[29] = function(w, ty, tree, node, mark, inside)
  local at, into = w.at, tree
  if not inside then into = open_node(tree, w.tvb, node.path, at) end
  w.index = nil
  local count = count_of(w, ty[3], ty[5], mark)
  text(w, into, child(node, ty[2]), count * ty[5], ty[4])
  if not inside then into:set_len(w.at - at) end
  return nil
end

-- a value behind its length: bytes, if they are not exactly that
ops[33] = function(w, ty, tree, node, mark)
  local count = count_of(w, ty[2], 1, mark)
  local at, stop = w.at, w.at + count
  local size, depth, scope = w.size, w.depth, #w.scope
  w.size = stop
  local read = pcall(value, w, ty[3], tree, node, mark, false)
  if not read or w.at ~= stop then show_bytes(tree, w.tvb, node.path, at, count) end
  for i = #w.scope, scope + 1, -1 do w.scope[i] = nil end
  w.at, w.size, w.depth, w.index, w.mask = stop, size, depth, nil, nil
  return nil
end

value = function(w, id, tree, node, mark, inside)
  if w.depth == 0 then fail(w, "more than 400 types inside one another") end
  w.depth = w.depth - 1
  local ty = w.types[id]
  local seen = ops[ty[1]](w, ty, tree, node, mark, inside)
  w.depth = w.depth + 1
  return seen
end

-- Connections --------------------------------------------------------------------------------------

-- By the two ends, what holds for what comes next. (The number of the TCP stream is a field, and there
-- are none while Wireshark reads a file for the first time.)
local connections = {}
-- By frame and place in it, what held before it: frames are dissected again in any order.
local snapshots = {}
-- The frame with the first bytes of each TCP stream.
local begins = {}

function proto.init()
  connections, snapshots, begins = {}, {}, {}
end

local function copy(connection)
  local other = {}
  for key, it in pairs(connection) do other[key] = it end
  return other
end

-- The description for a version: else the nearest older one, else the oldest.
local function describe(version)
  local found = ORDER[1]
  for _, known in ipairs(ORDER) do
    if place(known) <= place(version) then found = known end
  end
  return VERSIONS[found], found == version
end

-- Whether bytes begin with a handshake; nil when they are too few.
local function is_handshake(s)
  local w = { s = s, at = 0, size = #s }
  local ok, result = pcall(function()
    local length = varint(w)
    if length < 6 then return false end
    local start = w.at
    if u8(w) ~= 0 then return false end
    varint(w)
    local host = varint(w)
    if host < 0 or w.at - start + host + 3 ~= length then return false end
    local next = byte(s, start + length)
    return next == nil or next >= 1 and next <= 3
  end)
  if ok then return result end
  if #s < 12 then return nil end
  return false
end

local states = { handshaking = 1, status = 1, login = 1, configuration = 1, play = 1 }

-- What a packet means for what comes after it.
local function drive(connection, direction, packet, root)
  local role = packet[3]
  if role == "Handshake" then
    local version = root.protocolVersion
    if type(version) ~= "number" then return end
    connection.version = version
    connection.protocol, connection.exact = describe(version)
    local next = root.nextState == 1 and "status" or "login"
    connection.clientbound, connection.serverbound = next, next
  elseif role == "SetCompression" then
    local threshold = root.threshold
    if type(threshold) == "number" then
      connection.compressed = threshold >= 0
    end
  elseif role == "EncryptionResponse" then
    connection.encrypted = true
  elseif role == "LoginSuccess" then
    if connection.protocol.configures then
      connection.clientbound = "configuration"
    else
      connection.clientbound, connection.serverbound = "play", "play"
    end
  elseif role == "FinishConfiguration" then
    connection[direction] = "play"
  elseif role == "LoginAcknowledged" or role == "StartConfiguration"
    or role == "ConfigurationAcknowledged" then
    connection[direction] = "configuration"
  end
end

-- What is said, on one line and not too long.
local function shorten(said)
  -- Without the codes of colours.
  said = said:gsub("\194\167.", ""):gsub("%c", " ")
  if #said <= 80 then return said end
  -- Not within a character of UTF-8.
  local last = 80
  while last > 0 and byte(said, last + 1) >= 128 and byte(said, last + 1) < 192 do last = last - 1 end
  return sub(said, 1, last) .. ".."
end

-- What reads the packets of a connection from a place in its bytes on.
local function walker(tvb, s, at, connection, direction)
  local protocol = connection.protocol
  return {
    s = s, tvb = tvb, at = at, size = #s, scope = {}, depth = 400,
    empty = 65536, root = {}, types = protocol.types, seen = {}, waiting = {},
    window = connection.window, version = protocol.number,
    meanings = meanings(protocol.number, direction),
  }
end

local function show_head(tree, connection, direction)
  tree:add(meta.state, connection[direction]):set_generated()
  tree:add(meta.direction, direction):set_generated()
  if connection.version then
    tree:add(meta.version, connection.version):set_generated()
  end
end

-- Shows a packet's fields; gives its name for the Info column.
local function show_body(tvb, tree, connection, direction)
  local state = connection[direction]
  show_head(tree, connection, direction)
  local size = tvb:len()
  local w = walker(tvb, size > 0 and tvb:raw() or "", 0, connection, direction)
  local ok, id = pcall(varint, w)
  if not ok then
    tree:add_proto_expert_info(undecoded, "no packet id")
    return "?"
  end
  tree:add(meta.id, tvb:range(0, w.at), id % 4294967296)
  local packet = connection.protocol[state .. " " .. direction][id]
  if not packet then
    tree:add(meta.unknown, tvb:range(w.at))
    local what = string.format("no %s packet 0x%02x in state %s", direction, id, state)
    tree:add_proto_expert_info(undecoded, what)
    return string.format("0x%02x", id)
  end
  local name = packet[1]
  tree:add(meta.packet, tvb:range(0, w.at), name)
  tree:append_text(": " .. name)
  local node = { path = name, name = name, depth = 0 }
  local fault
  ok, fault = pcall(value, w, packet[2], tree, node, { start = 0, parent = 0 }, false)
  if not ok then
    local what = type(fault) == "table"
      and string.format("%s: %s, at byte %d", w.where or name, fault.what, fault.at)
      or "fault of the dissector: " .. tostring(fault)
    tree:add_proto_expert_info(undecoded, what)
    name = name .. " (does not decode)"
  elseif w.at < size then
    tree:add(meta.unknown, tvb:range(w.at))
    local left = size - w.at
    local unit = left == 1 and " byte" or " bytes"
    tree:add_proto_expert_info(undecoded, left .. unit .. " left after the last field")
  end
  if connection.version and not connection.exact then
    tree:add_proto_expert_info(guessed, "version " .. connection.version .. " is read as "
      .. connection.protocol.name)
  end
  if name == "open_window" and direction == "clientbound" then
    local kind = w.root.inventoryType
    if type(kind) == "number" then _, kind = known(w, "open_window", "inventoryType") end
    connection.window = { number = w.root.windowId, kind = kind and WINDOWS[without_namespace(kind)] }
  end
  drive(connection, direction, packet, w.root)
  return w.said and name .. ": " .. shorten(w.said) or name
end

-- A tree that shows nothing.
local nowhere = {}
for _, method in ipairs({ "add", "add_le", "append_text", "prepend_text", "set_text", "set_len",
  "set_generated", "set_hidden", "add_packet_field", "add_proto_expert_info" }) do
  nowhere[method] = function() return nowhere end
end

-- One packet from before 1.7, which says nowhere how long it is: gives the offset behind it, nil if bytes are missing,
-- or false.
local function show_old(tvb, s, at, tree, connection, direction, names)
  -- Up to 1.2, the login begins with the version.
  if byte(s, at + 1) == 1 and direction == "serverbound" and not connection.protocol.release then
    if #s < at + 5 then return nil, DESEGMENT_ONE_MORE_SEGMENT end
    local version = unsigned({ s = s, at = at + 1, size = #s }, 4)
    local known = OLD[version]
    connection.version = version
    connection.exact = known ~= nil and not known.release and known.text == connection.protocol.text
    connection.protocol = connection.exact and known or connection.protocol
  end
  local packet = connection.protocol["play " .. direction][byte(s, at + 1)]
  if not packet then return false end
  local node = { path = packet[1], name = packet[1], depth = 0 }
  local function read(into)
    local w = walker(tvb, s, at + 1, connection, direction)
    return w, pcall(value, w, packet[2], into, node, { start = 0, parent = 0 }, false)
  end
  local w, ok, fault = read(nowhere)
  if not ok then
    local is_short = type(fault) == "table" and fault.short
    if is_short and #s - at <= MAX_FRAME then return nil, DESEGMENT_ONE_MORE_SEGMENT end
    return false
  end
  local item = tree:add(proto, tvb:range(at, w.at - at))
  show_head(item, connection, direction)
  item:add(meta.id, tvb:range(at, 1))
  item:add(meta.packet, tvb:range(at, 1), packet[1])
  item:append_text(": " .. packet[1])
  w = read(item)
  names[#names + 1] = w.said and packet[1] .. ": " .. shorten(w.said) or packet[1]
  -- The server encrypts from its answer on.
  if packet[3] == "EncryptionResponse" or packet[3] == "EncryptionStarted" then
    connection["encrypted " .. direction] = true
  end
  if connection.version and not connection.exact then
    item:add_proto_expert_info(guessed, "version " .. connection.version .. " is read as "
      .. connection.protocol.name)
  end
  return w.at
end

-- One frame of the game: gives the offset behind it, or nil and how many bytes are missing.
local function show_frame(tvb, at, tree, connection, direction, names)
  local size = tvb:len()
  local head = tvb:raw(at, math.min(5, size - at))
  local w = { s = head, at = 0, size = #head }
  local ok, length = pcall(varint, w)
  if not ok then
    if #head < 5 then return nil, DESEGMENT_ONE_MORE_SEGMENT end
    return false
  end
  if length < 0 or length > MAX_FRAME then return false end
  local start = at + w.at
  if start + length > size then return nil, start + length - size end
  local item = tree:add(proto, tvb:range(at, w.at + length))
  item:add(meta.length, tvb:range(at, w.at), length)
  local body
  if connection.compressed and length > 0 then
    local inner = { s = tvb:raw(start, math.min(5, length)), at = 0 }
    inner.size = #inner.s
    local inflated
    ok, inflated = pcall(varint, inner)
    if not ok then
      item:add_proto_expert_info(undecoded, "the data length does not end")
      return start + length
    end
    item:add(meta.inflated, tvb:range(start, inner.at), inflated % 4294967296)
    local data = tvb:range(start + inner.at, length - inner.at)
    if inflated == 0 then
      body = length > inner.at and data:tvb()
    else
      body = data:uncompress("Inflated packet")
      body = body and body:tvb()
      if not body or body:len() ~= inflated then
        item:add_proto_expert_info(undecoded, "it does not inflate")
        names[#names + 1] = "?"
        return start + length
      end
    end
  else
    body = length > 0 and tvb:range(start, length):tvb()
  end
  if body then
    names[#names + 1] = show_body(body, item, connection, direction)
  else
    item:add_proto_expert_info(undecoded, "no packet id")
  end
  return start + length
end

local function whole(tvb, tree, field, text)
  local item = tree:add(proto, tvb:range())
  item:add(field, tvb:range())
  item:append_text(": " .. text)
end

-- Whether a client's bytes are a whole handshake, with which a connection of the same ends begins.
local function begins_again(tvb)
  local s = tvb:raw(0, math.min(tvb:len(), 300))
  if not is_handshake(s) then return false end
  local w = { s = s, at = 0, size = #s }
  local length = varint(w)
  local start = w.at
  if start + length > #s then return false end
  w.at = start + 1
  local version, next = varint(w), byte(s, start + length)
  -- Numbers below are packet ids, where bytes are compressed.
  return (version >= 107 or version == 47) and next >= 1 and next <= 3
end

-- The description with which a connection from before 1.7 begins, by its handshake, and the version if that says it: up
-- to 1.2, the first text tells how texts are written. Nil if bytes are no such handshake, or too few.
local function begins_old(s)
  if #s < 6 or byte(s, 1) ~= 2 then return nil end
  local number, at = byte(s, 2), 2
  if number > 0 then at = 3 end
  local length = byte(s, at) * 256 + byte(s, at + 1)
  local utf16 = byte(s, at + 2) == 0
  if length == 0 or length > 300 or (number > 0 and not utf16) then return nil end
  local found, best
  for version, it in pairs(OLD) do
    local fits = it.release == (number > 0) and (it.text == 2) == utf16
    if fits and (number == 0 or version <= number) and (not best or version > best) then
      found, best = it, version
    end
  end
  return found, number > 0 and number or nil, best == number
end

local function new_connection(tvb, source)
  local s = tvb:raw(0, math.min(tvb:len(), 16))
  local old, version, exact = begins_old(s)
  if old then
    return {
      client = source, clientbound = "play", serverbound = "play", old = true,
      protocol = old, version = version, exact = exact,
    }
  end
  if byte(s, 1) == 2 and #s < 6 then return nil end
  local found = is_handshake(s)
  if found == nil then return nil end
  if not found or not ORDER[1] then return { opaque = true } end
  return {
    client = source, clientbound = "handshaking", serverbound = "handshaking",
    protocol = VERSIONS[ORDER[1]], exact = true,
  }
end

-- The sender of a segment, and both ends of its connection.
local function ends_of(pinfo)
  local source = tostring(pinfo.src) .. " " .. pinfo.src_port
  local target = tostring(pinfo.dst) .. " " .. pinfo.dst_port
  return source, source < target and source .. " " .. target or target .. " " .. source
end

function proto.dissector(tvb, pinfo, tree)
  local size = tvb:len()
  if size == 0 then return 0 end
  local source, ends = ends_of(pinfo)
  local key = pinfo.number .. " " .. tvb:offset() .. " " .. size
  local connection
  if pinfo.visited then
    connection = snapshots[key] and copy(snapshots[key])
    if not connection then return 0 end
  else
    connection = connections[ends]
    if connection and (connection.opaque or source == connection.client)
      and connection.serverbound ~= "handshaking" and begins_again(tvb) then
      connection = nil
    end
    if not connection then
      connection = new_connection(tvb, source)
      if not connection then
        pinfo.desegment_offset, pinfo.desegment_len = 0, DESEGMENT_ONE_MORE_SEGMENT
        return size
      end
      connections[ends] = connection
    end
    snapshots[key] = copy(connection)
  end
  if connection.opaque and not connection.client then return 0 end
  local direction = source == connection.client and "serverbound" or "clientbound"
  pinfo.cols.protocol = "Minecraft"
  local arrow = direction == "serverbound" and "→ " or "← "
  local function encrypted()
    return connection.encrypted or connection["encrypted " .. direction]
  end
  if encrypted() or connection.opaque then
    local field = encrypted() and meta.encrypted or meta.unknown
    local what = encrypted() and "encrypted" or "not understood"
    whole(tvb, tree, field, what)
    pinfo.cols.info = arrow .. what
    return size
  end
  local at, names = 0, {}
  local s = connection.old and tvb:raw()
  while at < size do
    if encrypted() then
      whole(tvb:range(at):tvb(), tree, meta.encrypted, "encrypted")
      names[#names + 1] = "encrypted"
      break
    end
    local behind, missing
    if s then
      behind, missing = show_old(tvb, s, at, tree, connection, direction, names)
    else
      behind, missing = show_frame(tvb, at, tree, connection, direction, names)
    end
    if behind == false then
      connection.opaque = true
      whole(tvb:range(at):tvb(), tree, meta.unknown, "not understood")
      names[#names + 1] = "not understood"
      break
    end
    if not behind then
      pinfo.desegment_offset, pinfo.desegment_len = at, missing
      break
    end
    at = behind
  end
  if #names > 0 then
    pinfo.cols.info:set(arrow .. table.concat(names, ", ", 1, math.min(#names, 12))
      .. (#names > 12 and ", .. " or " "))
    pinfo.cols.info:fence()
  end
  return size
end

local stream_of = Field.new("tcp.stream")

-- On any port, connections whose first bytes are a handshake: in the middle of another protocol's
-- stream, bytes may look like one.
local function heuristic(tvb, pinfo, tree)
  local stream, _, ends = stream_of(), ends_of(pinfo)
  -- Without the number of the stream, a later one of the same ends is known by a whole handshake only.
  local again = not stream and connections[ends] and begins_again(tvb)
  stream = stream and stream.value or ends
  begins[stream] = not again and begins[stream] or pinfo.number
  if begins[stream] ~= pinfo.number then return false end
  if tvb:len() < 7 then return false end
  local s = tvb:raw(0, math.min(tvb:len(), 300))
  if not is_handshake(s) and not begins_old(s) then return false end
  pinfo.conversation = proto
  proto.dissector(tvb, pinfo, tree)
  return true
end

proto:register_heuristic("tcp", heuristic)
for _, port in ipairs(PORTS) do
  DissectorTable.get("tcp.port"):add(port, proto)
end
