-- Governed writes: about 200 bytes of harmless text, eight agents, keys that are overwritten now and then.
dofile(os.getenv("LOAD_REPORT"))
local count = 0
local path = os.getenv("LOAD_PATH") or "/v1/data/write"
local client = tostring({}):sub(8)
local value = "The customer prefers a morning delivery, asked for the blue one and pays by invoice within "
  .. "thirty days; the parcel was sent by road and arrived on time, said the driver who called."
request = function()
  count = count + 1
  local body = string.format(
    '{"agent_id":"bench-%d","key":"note/%s/%d","value":"%s","metadata":{"source":"chat","confidence":0.92}}',
    count % 8, client, count % 2000, value)
  local headers = { ["Content-Type"] = "application/json", ["X-API-Key"] = os.getenv("GOVERND_KEY") }
  return wrk.format("POST", path, headers, body)
end
