import { RuntimeClosedError } from '../../base/errors/runtime-errors.ts'
import { InvalidRequestError, RateLimitedError } from '../../base/errors/server-errors.ts'
import { existing } from '../existing.ts'
import { type Cursor, parseCursor } from '../live/cursor.ts'
import { eventStream, eventStreamHeaders } from '../live/event-stream.ts'
import type { Route, RouteCall } from '../route.ts'
import { object, text } from '../schemas.ts'

export const liveRoutes: readonly Route[] = [
  {
    name: 'live',
    method: 'GET',
    path: '/conversations/:id/live',
    summary: 'What happens, as it happens: a snapshot, or what came after the id of the last event',
    query: object({ after: { ...text, description: 'As the header last-event-id, which wins; a bare seq will do.' } }),
    answer: { status: 200, description: 'Server-sent events.', type: 'text/event-stream' },
    async handle(call) {
      const cursor = cursorOf(call)
      const { conversation } = await existing(call)
      const { feeds, settings } = call.server
      // Nobody would read it, and so nobody would end it.
      if (call.request.method === 'HEAD') return new Response(null, { headers: eventStreamHeaders })
      if (feeds.subscribers >= settings.limits.streams) throw new RateLimitedError(1_000)
      const { ref } = call.verbs.inspect(conversation.id)
      const { disclosure } = call
      const subscription = await feeds.subscribe({ ref, conversation, disclosure }, cursor)
      if (!subscription) throw new RuntimeClosedError()
      call.request.signal.addEventListener('abort', () => subscription.close(), { once: true })
      if (call.request.signal.aborted) subscription.close()
      return eventStream(subscription)
    },
  },
]

function cursorOf({ request, query }: RouteCall): Cursor | null {
  const given = request.headers.get('last-event-id') || (query['after'] as string | undefined)
  if (given === undefined) return null
  const cursor = parseCursor(given)
  if (!cursor) throw new InvalidRequestError('event id', 'it is none that this server gave')
  return cursor
}
