import { letOthers } from '../store/page-through.ts'
import type { RouteCall } from './route.ts'

/** Nothing is read before there is room for it, and none is held longer than its client needs. */
export async function inRoom(
  { request, server }: Pick<RouteCall, 'request' | 'server'>,
  handle: () => Promise<Response>,
): Promise<Response> {
  const { answerBytes, waitMs } = server.settings.limits
  const place = await server.room.take(answerBytes, { signal: request.signal, waitMs })
  try {
    // Those that came together would be read in one go, where the store answers at once.
    await letOthers()
    return place.sending(await handle())
  } catch (error) {
    place.release()
    throw error
  }
}
