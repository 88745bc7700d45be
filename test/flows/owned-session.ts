import { silentLogger } from '../../src/base/logger.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import type { FlowVerbs } from '../../src/define/flow-verbs.ts'
import type { Schema } from '../../src/define/schema.ts'
import { type FlowContext, FlowOwner } from '../../src/engine/flow/flow-owner.ts'
import { FlowRegistry } from '../../src/engine/flow/flow-registry.ts'
import { loadFlow } from '../../src/engine/flow/load-flow.ts'
import type { NewEvent } from '../../src/log/events.ts'
import type { Change } from '../../src/store/change.ts'
import type { TenantStore } from '../../src/store/store.ts'
import { ownedLog } from '../support/owned-log.ts'

export const sessionId = 's1'
const id = sessionId
const ref = { tenant: 'default', id }
const started: NewEvent = { type: 'flow_started', content: { flow: 'f', version: '1', input: null, who: 'ann' } }
export const opened = (op: object, position = 1): NewEvent => {
  return { type: 'flow_opened', content: { position, op, asked: position, id: `s1/0/${position}` } } as NewEvent
}

type Options = {
  readonly more?: readonly NewEvent[]
  readonly askAgent?: FlowContext['askAgent']
  /** Of what the flow is given. */
  readonly input?: Schema
}

/** An owner of a session whose store does what the test says before it does what it is asked. */
export async function owning(run: (flow: FlowVerbs) => Promise<unknown>, { more = [], askAgent, input }: Options = {}) {
  const conversation = { kind: 'flow', agent: 'flow:f' } as const
  const { real, store, lease, clock, ...log } = await ownedLog(ref, { events: [started, ...more], conversation })
  const warnings: string[] = []
  const warned: unknown[] = []
  const warn = (message: string, fields?: object) => {
    warnings.push(message)
    warned.push(fields)
  }
  const context: FlowContext = {
    ...{ ref, store },
    node: {
      ...{ clock, logger: { ...silentLogger, warn }, warnOfStore: warn, redact: (text) => text, observer: null },
      flows: new FlowRegistry([defineFlow({ name: 'f', version: '1', run, ...(input ? { input } : {}) })]),
    },
    askAgent: askAgent ?? (async () => null),
  }
  const owner = new FlowOwner(context, lease, (await loadFlow(real, id))!)
  const { pass, meddle, commits, released, lost, types, epoch } = log
  return { owner, clock, pass, store: real, meddle, commits, released, warnings, warned, lost, types, epoch }
}

/** Gives the lease to another node. */
export async function takeAway({
  store,
  epoch,
}: {
  readonly store: TenantStore
  readonly epoch: number
}): Promise<void> {
  await store.releaseLease(id, epoch)
  await store.claimLease(id, 'two', 60_000)
}

export const isEmpty = ({ events }: Change) => events.length === 0
export const sleepy = (ms: number) => async (flow: FlowVerbs) => {
  await flow.sleep(ms)
  return 'woken'
}
