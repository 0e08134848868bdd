-- Reads of entries that exist.
dofile(os.getenv("LOAD_REPORT"))
local count = 0
request = function()
  count = count + 1
  local path = string.format("/v1/data/read?agent_id=bench-%d&key=known%%2F%d", count % 8, count % 100)
  return wrk.format("GET", path, { ["X-API-Key"] = os.getenv("GOVERND_KEY") })
end
