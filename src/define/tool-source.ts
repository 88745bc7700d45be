import type { Agent } from './agent.ts'
import { isTool, type Tool } from './tool.ts'

/**
 * Tools that are found while the agent runs, such as those of another server. They are listed at the beginning of each turn, and again when a turn continues
 * in another process. In between they do not change, so that the prompt does not.
 */
export type ToolSource = {
  /** The names of its tools are this name, two underscores and more. 1 to 24 of a-z A-Z 0-9 and `-`. */
  readonly name: string
  /** The tools it has now. Must settle within seconds, and must not reject: a source that cannot be reached returns those it knows. */
  list(): Promise<readonly Tool[]>
  /**
   * The tool of a call in the log, also one that the source no longer has or has not listed in this process: then its `run` must end the call with an error.
   * Synchronous.
   */
  toolFor(name: string): Tool
  /** Called when a runtime with the source has closed. Must be usable again after it. */
  close?(): Promise<void>
}

export function isToolSource(value: unknown): value is ToolSource {
  const { name, list, toolFor } = Object(value) as Partial<ToolSource>
  return typeof name === 'string' && typeof list === 'function' && typeof toolFor === 'function'
}

/** What the names of the tools of a source begin with. */
export function sourcePrefix({ name }: Pick<ToolSource, 'name'>): string {
  return `${name}__`
}

export const sourceNames = /^[a-zA-Z0-9-]{1,24}$/

type Sourced = Pick<Agent, 'toolSet' | 'toolSources'>

/** The agent's tool of that name, also one that only a source knows. */
export function toolNamed(agent: Sourced | undefined, name: string): Tool | null {
  if (!agent) return null
  const own = agent.toolSet.get(name)
  if (own) return own
  return agent.toolSources.find((source) => name.startsWith(sourcePrefix(source)))?.toolFor(name) ?? null
}

/** Whether the agent has the tool, or a source that may come to have it. */
export function mayHaveTool(agent: Sourced, name: string): boolean {
  return agent.toolSet.has(name) || agent.toolSources.some((source) => name.startsWith(sourcePrefix(source)))
}

/** The agent with the tools that its sources have now. Those with the name of another tool, or without their source's prefix, are left out. */
export async function withSourcedTools(agent: Agent): Promise<Agent> {
  const lists = await Promise.all(agent.toolSources.map(async (source) => ownTools(source, await source.list())))
  const toolSet = new Map(agent.toolSet)
  for (const tool of lists.flat()) if (!toolSet.has(tool.name)) toolSet.set(tool.name, tool)
  return toolSet.size === agent.toolSet.size ? agent : { ...agent, tools: [...toolSet.values()], toolSet }
}

function ownTools(source: ToolSource, tools: readonly Tool[]): Tool[] {
  return tools.filter((tool) => isTool(tool) && tool.name.startsWith(sourcePrefix(source)))
}

type Named = { readonly name: string }

/** Lists what is wrong with the sources of an agent that has these tools. */
export function sourceProblems(toolSources: unknown, tools: readonly Named[]): string[] {
  if (toolSources === undefined) return []
  if (!Array.isArray(toolSources)) return ["'toolSources' must be a list"]
  const problems: string[] = []
  const names = new Set<string>()
  for (const [index, source] of toolSources.entries()) {
    if (!isToolSource(source)) {
      problems.push(`toolSources[${index}] is no source of tools; one is made by mcpTools`)
      continue
    }
    const { name } = source
    if (!sourceNames.test(name)) problems.push(`toolSources[${index}].name must be 1 to 24 of a-z A-Z 0-9 -`)
    if (names.has(name)) problems.push(`there are several tool sources named '${name}'`)
    names.add(name)
    const taken = tools.find((tool) => tool.name.startsWith(sourcePrefix(source)))
    if (taken) problems.push(`the tool '${taken.name}' has a name that belongs to the tool source '${name}'`)
  }
  return problems
}
