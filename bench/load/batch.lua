-- Batches of governed writes, each to one of eight agents.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
local count = 0
local size = tonumber(os.getenv("LOAD_ENTRIES"))
request = function()
  count = count + 1
  local operations = {}
  for at = 1, size do
    operations[at] = string.format('{"op":"write",%s}', entry(count * size + at))
  end
  local body = string.format('{"agent_id":"bench-%d","operations":[%s]}', count % 8, table.concat(operations, ","))
  local headers = { ["Content-Type"] = "application/json", ["X-API-Key"] = os.getenv("GOVERND_KEY") }
  return wrk.format("POST", "/v1/data/batch", headers, body)
end
