-- Calls of memory_write and memory_read with the payloads of write.lua and read.lua. LOAD_PATH: the tool and the protocol.
dofile(os.getenv("LOAD_REPORT"))
local tool, version = os.getenv("LOAD_PATH"):match("^(%S+) (%S+)$")
local stateless = version == "2026-07-28"
local client = tostring({}):sub(8)
local count = 0
local value = "The customer prefers a morning delivery, asked for the blue one and pays by invoice within "
  .. "thirty days; the parcel was sent by road and arrived on time, said the driver who called."
local headers = {
  ["Content-Type"] = "application/json",
  ["Accept"] = "application/json, text/event-stream",
  ["X-API-Key"] = os.getenv("GOVERND_KEY"),
  ["MCP-Protocol-Version"] = version,
}
local meta = ""
if stateless then
  headers["Mcp-Method"] = "tools/call"
  headers["Mcp-Name"] = tool
  meta = ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    .. '"io.modelcontextprotocol/clientCapabilities":{},'
    .. '"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}'
end
local arguments = {
  memory_write = function()
    return string.format(
      '{"key":"note/%s/%d","value":"%s","metadata":{"source":"chat","confidence":0.92}}', client, count % 2000, value)
  end,
  memory_read = function() return string.format('{"key":"known/%d"}', count % 100) end,
}
request = function()
  count = count + 1
  local body = string.format(
    '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s%s}}',
    count, tool, arguments[tool](), meta)
  return wrk.format("POST", "/v1/mcp/agents/bench-" .. count % 8, headers, body)
end
