-- The entry that loads write: about 200 bytes of harmless text; keys that are overwritten now and then.
local value = "The customer prefers a morning delivery, asked for the blue one and pays by invoice within "
  .. "thirty days; the parcel was sent by road and arrived on time, said the driver who called."
local client = tostring({}):sub(8)

-- Returns the members of the entry number `count`, as JSON.
entry = function(count)
  return string.format(
    '"key":"note/%s/%d","value":"%s","metadata":{"source":"chat","confidence":0.92}', client, count % 2000, value)
end

-- Returns the JSON array of batch number `count`. `item` makes one of its items of an entry's members.
batch = function(count, item)
  local size = tonumber(os.getenv("LOAD_ENTRIES"))
  local items = {}
  for at = 1, size do
    items[at] = item(entry(count * size + at))
  end
  return "[" .. table.concat(items, ",") .. "]"
end
