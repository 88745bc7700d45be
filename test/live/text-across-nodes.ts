import { randomUUID } from 'node:crypto'
import { GrowingView, type WatchEvent } from '../../src/view/growing-view.ts'
import type { SeededRandom } from '../faults/harness/seeded-random.ts'
import { connect } from '../server/sse-connection.ts'
import { checkOneText, words } from './writer.ts'

/** The addresses of two nodes on one store, each with the agent of `writer.ts`. */
export type Nodes = readonly [string, string]

async function post(url: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  await response.body?.cancel()
}

const send = (url: string, id: string): Promise<void> =>
  post(`${url}/conversations/${id}/messages`, { agent: 'writer', message: 'Write.' })

const live = (url: string, id: string): string => `${url}/conversations/${id}/live`

/** How much later than at the node that writes it the first text of a message comes at the other, in milliseconds. Negative: earlier. */
export async function firstTextElsewhere([here, elsewhere]: Nodes): Promise<number> {
  const id = `first-${randomUUID()}`
  await send(here, id)
  await ended(here, id)
  const pages = await Promise.all([here, elsewhere].map((url) => connect(live(url, id))))
  for (const page of pages) await page.next()
  const seen = pages.map(async (page) => {
    const read = await page.until(({ type }) => type === 'text_delta' || type === 'turn_completed')
    const at = performance.now()
    // Where nothing live came, the text came with its message.
    if (read.at(-1)!.event.type === 'text_delta') await page.until(({ type }) => type === 'turn_completed')
    return at
  })
  await send(here, id)
  const [first, second] = await Promise.all(seen)
  for (const page of pages) page.cut()
  return second! - first!
}

async function ended(url: string, id: string): Promise<void> {
  const page = await connect(live(url, id))
  await page.until(
    (event) => event.type === 'turn_completed' || (event.type === 'snapshot' && event.view.phase === 'idle'),
  )
  page.cut()
}

/**
 * Reads one message while it is written, and goes to the other node again and again. Throws when text vanishes, comes twice, or is not what the log has in the end.
 * Returns how often it went.
 */
export async function resumedElsewhere(nodes: Nodes, random: SeededRandom): Promise<number> {
  const id = `resumed-${randomUUID()}`
  await send(nodes[0], id)
  let [at, resumes] = [random.int(0, 1), 0]
  let page = await connect(live(nodes[at]!, id))
  let shown: GrowingView | null = null
  let text = ''
  for (let left = random.int(1, 8); ; left--) {
    const received = await page.next()
    if (!received) throw new Error('the stream ended')
    const { event } = received
    if (shown) shown.take(event)
    else if (event.type === 'snapshot') shown = new GrowingView(event.view)
    const now = textOf(shown!)
    if (!now.startsWith(text)) throw new Error(`text has vanished with ${event.type}: '${text}' became '${now}'`)
    checkOneText(now)
    text = now
    if (isEnd(event)) break
    if (left > 0 || text === '') continue
    page.cut()
    at = 1 - at
    resumes += 1
    left = random.int(2, 12)
    page = await connect(live(nodes[at]!, id), received.id)
  }
  page.cut()
  if (text.split(' ').length !== words + 1) throw new Error(`the message is not whole: ${text}`)
  return resumes
}

function isEnd(event: WatchEvent): boolean {
  return event.type === 'turn_completed' || (event.type === 'snapshot' && event.view.phase === 'idle')
}

function textOf(shown: GrowingView): string {
  const { messages, drafts } = shown.view
  const last = messages.at(-1)
  const committed = last?.role === 'assistant' ? last.parts : []
  return [...committed, ...drafts.flatMap(({ parts }) => parts)]
    .map((part) => ('text' in part ? part.text : ''))
    .join('')
}
