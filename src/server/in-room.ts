import { letOthers } from '../store/page-through.ts'
import type { RouteCall } from './route.ts'

/** Nothing is read before there is room for it, and none is held longer than its client needs. Null, where nothing can be answered yet, needs none. */
export async function inRoom<Answer extends Response | null>(
  { request, server }: Pick<RouteCall, 'request' | 'server'>,
  handle: () => Promise<Answer>,
): Promise<Response | (Answer & null)> {
  const { answerBytes, waitMs } = server.settings.limits
  const place = await server.room.take(answerBytes, { signal: request.signal, waitMs })
  try {
    // Those that came together would be read in one go, where the store answers at once.
    await letOthers()
    const answer = await handle()
    if (answer) return place.sending(answer)
    place.release()
    return answer as Answer & null
  } catch (error) {
    place.release()
    throw error
  }
}
