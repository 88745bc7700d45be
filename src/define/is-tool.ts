import type { Tool } from './tool.ts'

/** Made by `defineTool` or `fromAiSdkTools`; what is passed to them is not a tool yet. */
export function isTool(value: unknown): value is Tool {
  if (typeof value !== 'object' || value === null) return false
  const { name, executor, providerTool } = value as Partial<Tool>
  return typeof name === 'string' && typeof executor === 'string' && providerTool !== undefined
}
