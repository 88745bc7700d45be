import type { Agent } from '../../define/agent.ts'
import { withSourcedTools } from '../../define/tool-source.ts'
import type { EngineNode } from '../node.ts'

/** The agent with the tools of its sources: asked for once in each turn, so that the tools in its prompts do not change half-way. */
export class TurnTools {
  readonly #agent: Agent
  readonly #logger: EngineNode['logger']
  #turnId: string | null = null
  #found: Promise<Agent> | null = null

  constructor(agent: Agent, { logger }: Pick<EngineNode, 'logger'>) {
    this.#agent = agent
    this.#logger = logger
  }

  agentFor(turnId: string): Agent | Promise<Agent> {
    if (this.#agent.toolSources.length === 0) return this.#agent
    if (this.#turnId !== turnId || !this.#found) {
      this.#turnId = turnId
      this.#found = withSourcedTools(this.#agent).catch((error: unknown) => {
        this.#logger.error('the tools of a source could not be listed', { agent: this.#agent.name, turnId, error })
        return this.#agent
      })
    }
    return this.#found
  }
}
