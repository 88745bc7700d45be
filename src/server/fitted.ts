import { letOthers } from '../store/page-through.ts'
import { bytesAnswer, jsonText } from './answer.ts'
import type { RouteCall } from './route.ts'

const leastBytes = 16 * 1024

/** An answer that is made of as much as it is told. How much that takes as JSON is only known when it is written: where it is too much, it is made of less. */
export async function fitted(
  { server }: Pick<RouteCall, 'server'>,
  make: (maxBytes: number) => Promise<unknown>,
): Promise<Response> {
  const { answerBytes } = server.settings.limits
  for (let maxBytes = answerBytes; ; maxBytes /= 2) {
    const made = await make(Math.floor(maxBytes))
    await letOthers()
    const body = Buffer.from(jsonText(made))
    if (body.byteLength > answerBytes && maxBytes > leastBytes) continue
    return bytesAnswer([body], { 'content-type': 'application/json' })
  }
}
