import type { ModelTool } from '../../define/language-model.ts'
import type { Tool } from '../../define/tool.ts'

/** Tools as a model is told about them. `provider` is that of the model, for provider-run tools that do not name theirs. */
export function modelTools(tools: readonly Tool[], provider = 'provider'): ModelTool[] {
  return tools.map((tool) => {
    const { name, description, providerTool, modelOptions } = tool
    if (providerTool || tool.executor === 'provider') {
      const { id, args } = providerTool ?? { id: null, args: {} }
      return {
        type: 'provider',
        name,
        id: (id ?? defaultId(name, provider)) as `${string}.${string}`,
        args: { ...args },
      }
    }
    return { type: 'function', name, description, inputSchema: tool.inputJsonSchema, ...modelOptions } as ModelTool
  })
}

/** The provider of a model reads `anthropic.messages`; its tools are called `anthropic.<tool>`. */
function defaultId(name: string, provider: string): string {
  return `${provider.split('.')[0]}.${name}`
}
