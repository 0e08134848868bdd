-- Governed writes to eight agents.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
dofile(os.getenv("LOAD_KEYS"))
local count = 0
local path = os.getenv("LOAD_PATH") or "/v1/data/write"
local make = function(count)
  local body = string.format('{"agent_id":"%s",%s}', agent_of(count), entry(count))
  return wrk.format("POST", path, headers_of(count), body)
end
request = function()
  count = count + 1
  return once(count, turn_of(count), make)
end
