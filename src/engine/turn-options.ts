import { shown } from '../base/errors/read-given.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import type { Agent } from '../define/agent.ts'
import type { Schema } from '../define/schema.ts'
import { turnSchema } from '../define/turn-schema.ts'
import type { TurnOptions } from '../log/events.ts'
import { checkWhole } from '../store/checks.ts'

/** What to do when a turn is open: refuse, run after it, cancel it and run next in line, or hand the message to it. */
export type WhenBusy = 'reject' | 'queue' | 'interrupt' | 'steer'

/** How a message is taken. What a turn's first message says holds for the whole turn. */
export type SendOptions<Out extends Schema | false | undefined = Schema | false | undefined> = {
  /** The same key is the same turn, however often it is sent. */
  readonly key?: string
  /** Default: `reject`; `queue` while the conversation is quarantined. */
  readonly whenBusy?: WhenBusy
  /** Overrides the agent's; false opts out. */
  readonly output?: Out
  readonly untilTool?: string
  /** At most so many model calls, within what the agent allows. */
  readonly maxSteps?: number
  /** At most so many tokens, with those of child agents, within what the agent allows. */
  readonly maxTokens?: number
}

/** All options of the turn, with the agent's defaults written in: a deploy does not change a turn under way. */
export function turnOptions(agent: Agent, options: SendOptions): TurnOptions {
  const output = options.output === undefined ? agent.outputJsonSchema : options.output && turnSchema(options.output)
  const untilTool = options.untilTool ?? agent.untilTool
  const maxTokens = lower(options.maxTokens, agent.maxTokens)
  if (options.untilTool !== undefined && !agent.toolSet.has(options.untilTool)) {
    throw new InvalidArgumentError(
      'untilTool',
      `is '${shown(options.untilTool)}'; the agent has ${[...agent.toolSet.keys()].join(', ')}`,
    )
  }
  for (const name of ['maxSteps', 'maxTokens'] as const) {
    if (options[name] !== undefined) checkWhole(name, options[name], 1)
  }
  return {
    maxSteps: lower(options.maxSteps, agent.maxSteps),
    maxParallelCalls: agent.maxParallelCalls,
    ...(agent.tools.some((tool) => tool.executor === 'agent') ? { maxDepth: agent.maxDepth } : {}),
    ...(Number.isFinite(maxTokens) ? { maxTokens } : {}),
    ...(untilTool === null ? {} : { untilTool }),
    ...(output ? { output } : {}),
  }
}

/** Both limits hold: a caller who asks for more than the agent allows gets what it allows. Infinity: neither is there. */
function lower(asked: number | undefined, allowed: number | null): number {
  return Math.min(asked ?? Number.POSITIVE_INFINITY, allowed ?? Number.POSITIVE_INFINITY)
}
