import { expect, test } from 'vitest'
import { userMsg } from '../testing/conformance/event-builders.ts'
import { createStore } from './create-store.ts'
import { memoryDriver } from './memory/memory-store.ts'

test.each([
  [true, 1],
  [false, 2],
  [undefined, 2],
])(
  'a key for the store itself is kept where its driver sends changes again (%s), so that it does a change once',
  async (resends, events) => {
    const store = createStore({ ...memoryDriver(), ...(resends === undefined ? {} : { resends }) })
    const change = { events: [userMsg()], resendKey: 'own' }
    await store.commit('chat', change)
    expect(await store.commit('chat', change)).toMatchObject({ ok: true, seq: events })
    expect(await store.streamEvents('chat')).toHaveLength(events)
    await store.close()
  },
)
