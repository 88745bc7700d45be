import { InvalidArgumentError } from '../errors/store-errors.ts'
import type { FlowOp } from '../log/events.ts'
import type { Json } from '../log/json.ts'
import { toJsonSchema } from '../tool/to-json-schema.ts'
import type { FlowVerbs } from './define-flow.ts'
import type { StepFunction } from './flow-run.ts'

type Ask = (op: FlowOp, run: StepFunction | null) => Promise<never>

/** The verbs as the flow's code sees them: each asks for one operation. */
export function flowVerbs(id: string, ask: Ask, continueAs: (input: Json) => Promise<never>): FlowVerbs {
  let agents = 0
  return {
    suspend: (tag, { schema } = {}) =>
      ask({ kind: 'suspend', tag, ...(schema ? { schema: toJsonSchema(schema) } : {}) }, null),
    request: (request, payload = null) => ask({ kind: 'request', request, payload }, null),
    step: ((name: string, ...rest: unknown[]) => {
      const fn = rest.at(-1)
      if (typeof fn !== 'function') throw new InvalidArgumentError(`step '${name}'`, 'needs a function to run')
      const { input = null, ifInterrupted = 'rerun' } = (rest.length > 1 ? rest[0] : {}) as {
        input?: Json
        ifInterrupted?: 'rerun' | 'report'
      }
      return ask({ kind: 'step', name, input, ifInterrupted }, fn as StepFunction)
    }) as FlowVerbs['step'],
    sleep: (ms) => {
      if (!Number.isSafeInteger(ms) || ms < 0)
        throw new InvalidArgumentError('ms', `must be a whole number of at least 0, not ${String(ms)}`)
      return ask({ kind: 'sleep', ms }, null)
    },
    agent: (agent, options) => {
      agents += 1
      const name = typeof agent === 'string' ? agent : agent.name
      return ask(
        { kind: 'agent', agent: name, id: options.id ?? `${id}/agent-${agents}`, message: options.message },
        null,
      )
    },
    now: () => ask({ kind: 'now' }, null),
    random: () => ask({ kind: 'random' }, null),
    uuid: () => ask({ kind: 'uuid' }, null),
    continueAs,
  }
}
