import type { LanguageModel, ModelTool } from '../model/language-model.ts'
import type { Tool } from './tool.ts'

/** A tool as the model is told about it. */
export function toModelTool(tool: Tool, model: LanguageModel): ModelTool {
  const { name, description, providerTool, modelOptions } = tool
  if (providerTool || tool.executor === 'provider') {
    const { id, args } = providerTool ?? { id: null, args: {} }
    return { type: 'provider', name, id: (id ?? defaultId(name, model)) as `${string}.${string}`, args: { ...args } }
  }
  return { type: 'function', name, description, inputSchema: tool.inputJsonSchema, ...modelOptions } as ModelTool
}

/** A model's provider reads `anthropic.messages`; its tools are called `anthropic.<tool>`. */
function defaultId(name: string, model: LanguageModel): string {
  return `${model.provider.split('.')[0]}.${name}`
}
