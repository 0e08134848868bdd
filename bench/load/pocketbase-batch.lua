-- Batches of new records in PocketBase, of the same entries.
dofile(os.getenv("LOAD_REPORT"))
dofile(os.getenv("LOAD_ENTRY"))
local count = 0
local size = tonumber(os.getenv("LOAD_ENTRIES"))
request = function()
  count = count + 1
  local requests = {}
  for at = 1, size do
    requests[at] = string.format(
      '{"method":"POST","url":"/api/collections/notes/records","body":{"agent_id":"bench-%d",%s}}',
      count % 8, entry(count * size + at))
  end
  local body = string.format('{"requests":[%s]}', table.concat(requests, ","))
  return wrk.format("POST", "/api/batch", { ["Content-Type"] = "application/json" }, body)
end
