import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient, perdureTransport } from '../../src/client/index.ts'
import { seededRandom } from '../faults/harness/seeded-random.ts'
import { until } from '../stories/until.ts'
import { cuttingFetch } from './programs/cutting-fetch.ts'
import { startChild } from './programs/start-child.ts'
import { essence, type Sdk } from './ui-assemble.ts'
import { type Chat, createChat, endedMessagesOf, lastMessage, messagesOf, textOf } from './ui-chat.ts'

const timeout = 60_000

test.each(['v6', 'v7'] as Sdk[])(
  'a page of ai %s shows the log in the end, though the server was killed while it wrote',
  { timeout },
  async (sdk) => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-ui-'))
    const input = { path: join(folder, 'agents.db'), deltas: 400 }
    let server = await startChild({ ...input, port: 0 })
    const { url, port } = server
    try {
      const api = `${url}/ui/helper`
      const chat = createChat(sdk, { api })
      const sent = chat.sendMessage({ text: 'Write much.' })
      await until(() => chat.messages.length === 2 && words(chat) > 50)
      await server.kill()
      await sent
      expect(chat.status).toBe('error')
      expect(words(chat)).toBeLessThan(400)
      server = await startChild({ ...input, port })
      await catchUp(chat, api)
      expect(words(chat)).toBe(400)
      const truth = (await messagesOf(api)).at(-1)!
      expect(essence(lastMessage(chat) as never)).toEqual(essence(truth as never))
      const [, answer] = (await createClient({ url }).conversation('c').view()).messages
      expect(textOf(lastMessage(chat))).toBe(answer?.parts.map((part) => ('text' in part ? part.text : '')).join(''))
    } finally {
      await server.kill()
      rmSync(folder, { recursive: true })
    }
  },
)

test.each(['v6', 'v7'] as Sdk[])(
  'a page of ai %s that is cut off again and again, while its server is killed, shows the log in the end',
  { timeout },
  async (sdk) => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-ui-'))
    const input = { path: join(folder, 'agents.db'), deltas: 1_500 }
    let server = await startChild({ ...input, port: 0 })
    const { url, port } = server
    const random = seededRandom(5)
    const api = `${url}/ui/helper`
    let cuts = 0
    const fetch = cuttingFetch(() => (cuts++ < 8 ? random.int(200, 5_000) : null))
    try {
      const chat = createChat(sdk, { api, fetch })
      await chat.sendMessage({ text: 'Write much.' })
      for (let n = 0; chat.status === 'error' || lastMessage(chat).metadata?.status !== 'completed'; n++) {
        if (n === 4) {
          await server.kill()
          server = await startChild({ ...input, port })
        }
        await catchUp(chat, api)
      }
      expect(cuts).toBeGreaterThan(5)
      expect(words(chat)).toBe(1_500)
      const truth = (await messagesOf(api)).at(-1)!
      expect(essence(lastMessage(chat) as never)).toEqual(essence(truth as never))
    } finally {
      await server.kill()
      rmSync(folder, { recursive: true })
    }
  },
)

test('a page with perdureTransport shows the log in the end, though its server was killed and the page did nothing', {
  timeout,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-ui-'))
  const input = { path: join(folder, 'agents.db'), deltas: 400 }
  let server = await startChild({ ...input, port: 0 })
  const { url, port } = server
  const api = `${url}/ui/helper`
  const chat = createChat('v7', { api, transport: perdureTransport({ url: api }) })
  try {
    const sent = chat.sendMessage({ text: 'Write much.' })
    await until(() => chat.messages.length === 2 && words(chat) > 50)
    await server.kill()
    expect(words(chat)).toBeLessThan(400)
    server = await startChild({ ...input, port })
    await sent
    expect(chat.error).toBeUndefined()
    expect(chat.status).toBe('ready')
    expect(words(chat)).toBe(400)
    const truth = (await messagesOf(api)).at(-1)!
    expect(essence(lastMessage(chat) as never)).toEqual(essence(truth as never))
  } finally {
    await server.kill()
    rmSync(folder, { recursive: true })
  }
})

/** As the guide has it. */
async function catchUp(chat: Chat, api: string): Promise<void> {
  chat.messages = await endedMessagesOf(api)
  await chat.resumeStream()
}

function words(chat: Chat): number {
  return textOf(lastMessage(chat)).split(' ').length - 1
}
