-- Governed writes to eight agents.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
local count = 0
local path = os.getenv("LOAD_PATH") or "/v1/data/write"
request = function()
  count = count + 1
  local body = string.format('{"agent_id":"bench-%d",%s}', count % 8, entry(count))
  local headers = { ["Content-Type"] = "application/json", ["X-API-Key"] = os.getenv("GOVERND_KEY") }
  return wrk.format("POST", path, headers, body)
end
