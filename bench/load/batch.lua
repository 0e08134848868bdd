-- Batches of governed writes, each to one of eight agents.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
local count = 0
request = function()
  count = count + 1
  local operations = batch(count, function(members) return string.format('{"op":"write",%s}', members) end)
  local body = string.format('{"agent_id":"bench-%d","operations":%s}', count % 8, operations)
  local headers = { ["Content-Type"] = "application/json", ["X-API-Key"] = os.getenv("GOVERND_KEY") }
  return wrk.format("POST", "/v1/data/batch", headers, body)
end
