import fc from 'fast-check'
import type { FsmState } from '../../../src/log/fsm-state.ts'
import type { ConversationAttrs } from '../../../src/store/records.ts'
import type { World } from '../world.ts'
import { agent, conversationId, owner } from './names.ts'
import { text } from './texts.ts'
import { object, value } from './values.ts'

export const status = fc.constantFrom('active', 'suspended', 'sleeping', 'idle', 'ended', 'failed')
export const kind = fc.constantFrom('conversation' as const, 'flow' as const)

export const fsmState: fc.Arbitrary<FsmState> = fc.record({
  state: fc.constantFrom('idle', 'running', 'awaiting_input', 'terminating'),
  pending: value,
  lastSeq: fc.nat(),
})

/** Any of the attributes, or none. */
export const attrs: fc.Arbitrary<ConversationAttrs> = fc
  .record(
    {
      kind,
      agent,
      owner,
      status,
      settings: object,
      fsmState,
      title: fc.option(text, { freq: 4 }),
      parent: fc.oneof(
        fc.record({ id: conversationId, callId: fc.constantFrom('row-1', 'some call') }),
        fc.record({ id: conversationId, at: fc.nat() }),
      ),
    },
    { requiredKeys: [] },
  )
  // A parent leads to a cascade; with one in every change nothing would live long.
  .chain(({ parent, ...rest }) => fc.nat({ max: 9 }).map((lot) => (parent && lot < 3 ? { ...rest, parent } : rest)))

export function countAttrs(world: World, { settings, title, fsmState: cached }: ConversationAttrs): void {
  if (settings) world.stored(settings)
  if (title) world.stored(title)
  if (cached) world.stored(cached.pending)
}
