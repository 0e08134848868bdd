-- The entry that loads write: about 200 bytes of harmless text; keys that are overwritten now and then.
local value = "The customer prefers a morning delivery, asked for the blue one and pays by invoice within "
  .. "thirty days; the parcel was sent by road and arrived on time, said the driver who called."
local client = tostring({}):sub(8)
local keys = 2000
-- How many entries a request has.
local size = tonumber(os.getenv("LOAD_ENTRIES") or "1")

-- Returns the members of the entry number `count`, as JSON.
entry = function(count)
  return string.format(
    '"key":"note/%s/%d","value":"%s","metadata":{"source":"chat","confidence":0.92}', client, count % keys, value)
end

-- Returns request number `count`: what `make(count)` returned for an earlier one with the same `turn` and the same
-- entries. The load runs on the machine that it measures, so it makes no request twice.
local made = {}
once = function(count, turn, make)
  local name = turn * keys + count * size % keys
  local request = made[name] or make(count)
  made[name] = request
  return request
end

-- Returns the JSON array of batch number `count`. `item` makes one of its items of an entry's members.
batch = function(count, item)
  local items = {}
  for at = 1, size do
    items[at] = item(entry(count * size + at))
  end
  return "[" .. table.concat(items, ",") .. "]"
end
