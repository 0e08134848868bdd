-- Batches of governed writes, each to one of eight agents.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
dofile(os.getenv("LOAD_KEYS"))
local count = 0
local make = function(count)
  local operations = batch(count, function(members) return string.format('{"op":"write",%s}', members) end)
  local body = string.format('{"agent_id":"%s","operations":%s}', agent_of(count), operations)
  return wrk.format("POST", "/v1/data/batch", headers_of(count), body)
end
request = function()
  count = count + 1
  return once(count, turn_of(count), make)
end
