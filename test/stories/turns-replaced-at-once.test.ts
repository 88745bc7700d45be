import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import type { Conversation, TurnHandle } from '../../src/runtime/conversation.ts'
import type { Change } from '../../src/store/change.ts'
import type { Store, TenantStore } from '../../src/store/store.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { overStores } from './over-stores.ts'

overStores('one request of a person that reaches two processes at once', (story) => {
  test.each([
    ['retry', (chat: Conversation, turnId: string) => chat.retry(turnId, { key: 'again' })],
    ['send in its place', (chat: Conversation, turnId: string) => chat.send('B', { key: 'again', replaces: turnId })],
  ])('a %s is one turn, and both get it', async (_, replace) => {
    const agent = defineAgent({ name: 'desk', model: scriptedModel(() => 'Yes.') })
    const data = story.openStore()
    const first = story.start({ agents: [agent], store: data }).conversation('c1', { agent: 'desk' })
    const turn = await first.send('A')
    await turn.outcome()
    // The other process makes the request after this one has looked whether it was made before.
    let other: TurnHandle | null = null
    const slow = afterLooking(story.reopen(data), async () => {
      other = await replace(first as Conversation, turn.turnId)
      await other.outcome()
    })
    const second = story.start({ agents: [agent], store: slow }).conversation('c1', { agent: 'desk' })
    const { turnId } = await replace(second as Conversation, turn.turnId)
    expect(turnId).toBe(other!.turnId)
    const said = (await first.events()).filter(({ type }) => type === 'user_msg')
    expect(said).toHaveLength(2)
    await expect(second.retry(turn.turnId, { key: 'another' })).rejects.toMatchObject({ code: 'turn_superseded' })
  })
})

/** The same store; `then` happens once, after it was asked whether a key is known. */
function afterLooking(store: Store, then: () => Promise<void>): Store {
  let hasLooked = false
  const wrap = <T extends Store | TenantStore>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const member: unknown = Reflect.get(object, name)
        if (name === 'forTenant') return (tenant: string) => wrap(store.forTenant(tenant))
        if (name !== 'commit' || typeof member !== 'function') return member
        return async (id: string, change: Change) => {
          const result: unknown = await member.call(object, id, change)
          if (change.events.length === 0 && change.key !== undefined && !hasLooked) {
            hasLooked = true
            await then()
          }
          return result
        }
      },
    })
  return wrap(store)
}
