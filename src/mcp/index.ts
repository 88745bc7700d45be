export { type McpStatus, type McpTools, mcpTools } from './client/mcp-tools.ts'
export type { McpAddress, McpFile, McpProcess, McpToolSettings, McpToolsOptions } from './client/server-address.ts'
export { type McpHandler, type McpHandlerOptions, mcpHandler } from './server/mcp-handler.ts'
