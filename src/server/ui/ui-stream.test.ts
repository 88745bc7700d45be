import { expect, test } from 'vitest'
import type { UnknownEvent } from '../../base/errors/log-errors.ts'
import { emptyState } from '../../log/state.ts'
import type { Conversation } from '../../runtime/conversation.ts'
import { viewOf } from '../../view/view-of.ts'
import type { RouteCall } from '../route.ts'
import { defaultLimits } from '../server-options.ts'
import { uiStream } from './ui-stream.ts'

/** A feed that shows a log without the turn, as far as it can be read. */
function callOf(unknownEvent?: UnknownEvent): RouteCall {
  const view = { ...viewOf('c', emptyState), ...(unknownEvent ? { unknownEvent } : {}) }
  const feeds = { subscribers: 0, follow: async () => ({ view, stop: () => {} }) }
  return {
    query: {},
    verbs: { inspect: () => ({ ref: { tenant: 'default', id: 'c' } }) },
    server: { feeds, settings: { limits: defaultLimits } },
  } as unknown as RouteCall
}

const streamed = { conversation: { id: 'c' } as Conversation, turnId: 't', seq: 0, held: null }

test('a turn that is not in the log is not found', async () => {
  await expect(uiStream(callOf(), streamed)).rejects.toMatchObject({ code: 'turn_not_found' })
})

test('a turn that may be behind an event this node does not know is not said to be missing', async () => {
  const unknownEvent = { seq: 7, type: 'note', needs: '0.3.0' }
  await expect(uiStream(callOf(unknownEvent), streamed)).rejects.toMatchObject({ code: 'event_unknown', unknownEvent })
})
