-- Searches over what `write.lua` and the preparation stored.
dofile(os.getenv("LOAD_REPORT"))
local count = 0
local queries = { "morning delivery", "who pays by invoice", "the parcel arrived", "a note of some length" }
request = function()
  count = count + 1
  local body = string.format('{"agent_id":"bench-%d","query":"%s","limit":10}', count % 8, queries[count % 4 + 1])
  local headers = { ["Content-Type"] = "application/json", ["X-API-Key"] = os.getenv("GOVERND_KEY") }
  return wrk.format("POST", "/v1/data/search", headers, body)
end
