-- Reads of the entries of a sample log (sample-log.ts), chosen at random.
dofile(os.getenv("LOAD_REPORT"))
local entries = tonumber(os.getenv("LOAD_ENTRIES"))
request = function()
  local number = math.random(0, entries - 1)
  local path = string.format("/v1/data/read?agent_id=bench-%d&key=note%%2F%d", number % 8, number)
  return wrk.format("GET", path, { ["X-API-Key"] = os.getenv("GOVERND_KEY") })
end
