import { titled, userMsg } from './event-builders.ts'
import type { Suite } from './suite.ts'

export function closing({ describe, testAlone, expect, refused }: Suite): void {
  describe('closing', () => {
    testAlone('a closed store refuses everything, through every handle', async ({ store }) => {
      await store.appendEvent('chat', userMsg())
      const acme = store.forTenant('acme')
      await store.close()
      const calls: (() => unknown)[] = [
        () => store.appendEvent('chat', userMsg()),
        () => store.commit('chat', { events: [titled('A')] }),
        () => store.streamEvents('chat'),
        () => store.getConversation('chat'),
        () => store.acquireLease('chat', 'one', 1_000),
        () => store.fork('chat', 'copy'),
        () => store.putBlob(new Uint8Array(1), 'text/plain'),
        () => store.dueWork({ agents: ['support'], limit: 1 }),
        () => store.renewLeases('one', 1_000),
        () => store.keepLeases('one', 1_000, []),
        () => store.deleteTenant('default'),
        () => acme.appendEvent('chat', userMsg()),
        () => acme.listConversations(),
      ]
      for (const call of calls) await refused('store_closed', call)
    })

    testAlone('closing twice, also at once, is closing once', async ({ store }) => {
      await Promise.all([store.close(), store.close()])
      await store.close()
    })

    testAlone('what was begun before is finished, what comes after is refused', async ({ store }) => {
      const begun = Promise.allSettled(Array.from({ length: 10 }, () => store.appendEvent('chat', userMsg())))
      const closed = store.close()
      const late = refused('store_closed', () => store.appendEvent('chat', userMsg()))
      await closed
      await late
      const seqs = (await begun).map((result) => (result.status === 'fulfilled' ? result.value : 'refused'))
      expect(seqs.sort((left, right) => Number(left) - Number(right))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    })

    testAlone('nobody hears anything of a closed store', async ({ store, pass }) => {
      let heard = 0
      const stop = store.onWake(() => {
        heard += 1
      })
      await store.close()
      await pass(20)
      stop()
      expect(heard).toBe(0)
    })
  })
}
