import type { InvalidValueError } from '../../base/errors/log-errors.ts'
import type { Json } from '../../base/json.ts'
import { encode } from '../../log/codec.ts'
import type { EventOf } from '../../log/events.ts'
import type { Store } from '../../store/store.ts'
import { carrying, toolCall, userMsg } from './event-builders.ts'
import { hostileValues, impossibleValues } from './hostile-values.ts'
import { observe } from './observe.ts'
import type { Suite } from './suite.ts'
import { valueCarriers } from './value-carriers.ts'

export function values({ describe, test, expect, refused }: Suite): void {
  describe('values', () => {
    for (const { name, prepare, write, read } of valueCarriers) {
      test(`every JSON value comes back unchanged from ${name}`, async ({ store }) => {
        for (const value of hostileValues) {
          await prepare?.(store)
          await write(store, value)
          for (const found of await read(store)) expect(encode(found)).toBe(encode(value))
        }
      })
    }

    for (const { name, path, prepare, write } of valueCarriers) {
      test(`${name} refuses what JSON cannot hold, and says where it is`, async ({ store }) => {
        await prepare?.(store)
        const before = await everything(store)
        for (const [what, make] of impossibleValues) {
          const value = { outer: [1, make()] } as never
          const error = await refused('invalid_value', () => write(store, value), `${what} in ${name}`)
          const found = (error as InvalidValueError).path
          expect([what, found.slice(0, path.length + 9)]).toEqual([what, `${path}.outer[1]`])
          expect(error.message.includes(`${path}.outer[1]`)).toBe(true)
        }
        expect(await everything(store)).toEqual(before)
      })
    }

    test('every text comes back unchanged as title, name, status and message', async ({ store }) => {
      const texts = hostileValues.filter((value) => typeof value === 'string')
      for (const text of texts) {
        await store.commit('chat', {
          events: [userMsg(text), { type: 'titled', content: { title: text } }],
          conversation: { title: text },
          calls: [{ id: 'call', name: text }],
        })
        await store.putModelCall('chat', { turnRef: 'turn', status: text })
        const [message, title] = await store.streamEvents('chat', { limit: 2 })
        const [pending] = await store.pendingInbox()
        const found = [
          (message as EventOf<'user_msg'>).content.message.parts[0],
          (title as EventOf<'titled'>).content.title,
          (await store.getConversation('chat'))!.title,
          (await store.listConversations())[0]!.title,
          pending!.title,
          pending!.name,
          (await store.getToolCall('call'))!.name,
          (await store.modelCalls('chat'))[0]!.status,
        ]
        expect(found).toEqual(found.map((_, index) => (index === 0 ? { type: 'text', text } : text)))
        await store.gcModelCalls('chat', 0)
        await store.deleteConversation('chat')
      }
    })

    test('a fork copies every value unchanged, also into the events it rewrites', async ({ store }) => {
      await store.commit('chat', {
        events: [
          userMsg(),
          ...hostileValues.flatMap((args, index) => [carrying(args), toolCall(`call-${index}`, { args })]),
        ],
        calls: hostileValues.map((args, index) => ({ id: `call-${index}`, args })),
      })
      await store.fork('chat', 'copy')
      const events = await store.streamEvents('copy')
      const carried = events.filter((event) => event.type === 'tool_result')
      const args = events.filter((event) => event.type === 'tool_call').map((event) => event.content.args)
      expect(carried.map((event) => encode((event.content as { result: Json }).result))).toEqual(
        hostileValues.map(text),
      )
      expect(args.map(text)).toEqual(hostileValues.map(text))
    })

    test('the winner of a stale answer comes back unchanged', async ({ store }) => {
      const callIds = hostileValues.map((_, index) => `call-${index}`)
      await Promise.all(callIds.map((id) => store.upsertToolCall('chat', { id })))
      await Promise.all(callIds.map((id, index) => store.resolveToolCall(id, 'resolved', hostileValues[index]!)))
      const winners = await Promise.all(
        callIds.map(async (callId) => {
          const resolve = [{ callId, round: 1, status: 'resolved', result: null }] as const
          const lost = await store.commit('chat', { events: [], resolve })
          return (lost as { winner?: EventOf<'resolution'> }).winner!.content.value
        }),
      )
      expect(winners.map(text)).toEqual(hostileValues.map(text))
    })
  })
}

function text(value: Json): string {
  return encode(value)
}

function everything(store: Store): Promise<unknown> {
  return observe(store, { ids: ['chat'], callIds: ['call'] })
}
