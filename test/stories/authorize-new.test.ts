import { expect, test } from 'vitest'
import { defineAgent } from '../../src/define/define-agent.ts'
import { defineFlow } from '../../src/define/define-flow.ts'
import { createScope, type Scope } from '../../src/define/scope.ts'
import type { Authorize, AuthorizeRequest } from '../../src/runtime/authorize/authorize.ts'
import type { Verbs } from '../../src/runtime/runtime.ts'
import { turnIdOf } from '../../src/runtime/send-message.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import type { WatchEvent } from '../../src/view/growing-view.ts'
import { gate } from './gate.ts'
import { overStores } from './over-stores.ts'

const scopeOf = (user: string): Scope => createScope({ user, tenant: 'acme' }) as Scope
const userOf = (scope: Scope): string => (scope as { readonly user: string }).user
const byFilter: Authorize = ({ scope }) => ({ owner: userOf(scope) })
const byPredicate: Authorize = ({ scope, conversation }) =>
  conversation === null || conversation.owner === userOf(scope)

const helper = () => defineAgent({ name: 'helper', model: scriptedModel(() => 'The code is 42.') })
const ask = defineFlow({ name: 'ask', version: 1, run: (flow) => flow.suspend('name?') })

overStores('authorize of an id that is not there yet', (story) => {
  const start = (authorize: Authorize) => {
    const runtime = story.start({ agents: [helper()], flows: [ask as never], pollMs: 20, authorize })
    return (user: string) => runtime.as(scopeOf(user)) as unknown as Verbs
  }

  /** Bob is asked about while there is nothing, and goes on when Ann has opened it. */
  const heldUp = () => {
    const [asked, released] = [gate(), gate()]
    let times = 0
    const as = start(async (request: AuthorizeRequest) => {
      if (userOf(request.scope) === 'bob' && ++times === 1) {
        asked.open()
        await released.opened
      }
      return byPredicate(request)
    })
    return { as, isAsked: asked.opened, goOn: released.open }
  }

  const opens = async (verbs: Verbs, message = 'Hi', key = 'of-ann') =>
    (await verbs.conversation('x', { agent: 'helper' }).send(message, { key })).outcome()

  test.each([
    ['filter', byFilter],
    ['predicate', byPredicate],
  ])('tells who watches it nothing of what another user opens there (%s)', async (_, authorize) => {
    const as = start(authorize)
    const [bobs, anns] = [watching(as('bob')), watching(as('ann'))]
    await Promise.all([bobs.hasBegun, anns.hasBegun])
    await opens(as('ann'))
    expect(await bobs.ended).toMatchObject([{ type: 'snapshot', view: { seq: 0 } }])
    await anns.until((event) => event.type === 'turn_ended')
    expect(anns.seen.map(({ type }) => type)).toContain('user_msg')
    anns.stop()
  })

  test('tells who watches it after deleting it nothing of what another user opens there', async () => {
    const as = start(byPredicate)
    await opens(as('bob'), 'Mine')
    const bobs = watching(as('bob'))
    await bobs.hasBegun
    await as('bob').conversation('x').delete()
    await opens(as('ann'), 'A secret')
    await bobs.ended
    expect(JSON.stringify(bobs.seen)).not.toContain('A secret')
  })

  test('tells a slow watcher nothing of what another user opens there, while it still reads what it missed', async () => {
    const as = start(byPredicate)
    const fill = async (verbs: Verbs, text: string) => {
      await opens(verbs, text)
      // More than a watcher reads at once.
      for (let n = 0; n < 60; n++) await verbs.conversation('x').note('long', text.padEnd(60_000, '.'))
    }
    await fill(as('bob'), 'Mine')
    const stopping = new AbortController()
    const bobs = as('bob').conversation('x').watch({ after: 1, signal: stopping.signal })
    const seen = [(await bobs.next()).value]
    await as('bob').conversation('x').delete()
    await fill(as('ann'), 'A secret')
    for await (const event of bobs) seen.push(event)
    expect(seen.length).toBeGreaterThan(40)
    expect(JSON.stringify(seen)).not.toContain('A secret')
  })

  test('looks as where there is nothing to a watcher who was asked about before another user opened it', async () => {
    const { as, isAsked, goOn } = heldUp()
    const bobs = watching(as('bob'))
    await isAsked
    await opens(as('ann'))
    goOn()
    await bobs.hasBegun
    expect(bobs.seen).toMatchObject([{ type: 'snapshot', view: { seq: 0, messages: [] } }])
    bobs.stop()
    expect(await bobs.ended).toHaveLength(1)
  })

  test.each<[string, (verbs: Verbs) => Promise<unknown>]>([
    ['view', (verbs) => verbs.conversation('x').view()],
    ['events', (verbs) => verbs.conversation('x').events()],
    ['outcome', (verbs) => verbs.conversation('x').outcome()],
    ['fork', (verbs) => verbs.conversation('x').fork({ id: 'copy' })],
    ['rename', (verbs) => verbs.conversation('x').rename('Mine')],
    ['inspect.record', (verbs) => verbs.inspect('x').record()],
    ['inspect.turns', (verbs) => verbs.inspect('x').turns()],
  ])('%s finds nothing where another user opened it since it was asked', async (_, use) => {
    const { as, isAsked, goOn } = heldUp()
    const using = toldBy(use(as('bob')))
    await isAsked
    await opens(as('ann'))
    goOn()
    expect(await using).toEqual(await toldBy(use(as('bob'))))
    expect(JSON.stringify(await using)).not.toContain('42')
    expect(await as('ann').inspect('x').record()).toMatchObject({ owner: 'ann', title: null })
  })

  test.each<[string, (verbs: Verbs) => Promise<unknown>]>([
    ['events', (verbs) => verbs.flow('ask', 'x').events()],
    ['outcome', (verbs) => verbs.flow('ask', 'x').outcome()],
    ['watch', async (verbs) => (await verbs.flow('ask', 'x').watch().next()).value],
    ['resume', (verbs) => verbs.flow('ask', 'x').resume('Bob')],
  ])('%s finds no session where another user started it since it was asked', async (_, use) => {
    const { as, isAsked, goOn } = heldUp()
    const using = toldBy(use(as('bob')))
    await isAsked
    await as('ann').flow('ask', 'x').start('A secret')
    goOn()
    expect(await using).toEqual(await toldBy(use(as('bob'))))
    expect(JSON.stringify(await using)).not.toContain('A secret')
    expect(await as('ann').flow('ask', 'x').status()).toBe('waiting')
  })

  test.each<[string, (verbs: Verbs) => Promise<unknown>]>([
    ['retry', (verbs) => verbs.conversation('x', { agent: 'helper' }).retry()],
    [
      'a message that replaces a turn',
      (verbs) => verbs.conversation('x', { agent: 'helper' }).send('Hi', { replaces: turnIdOf('of-ann') }),
    ],
  ])('%s leaves a log alone that another user began while a snapshot was loaded', async (_, use) => {
    const runtime = story.start({
      agents: [helper()],
      authorize: byPredicate,
      persistence: {
        persistState: () => {},
        async loadState(scope) {
          if (userOf(scope!) === 'bob') await opens(as('ann'))
          return null
        },
      },
    })
    const as = (user: string) => runtime.as(scopeOf(user)) as unknown as Verbs
    await expect(use(as('bob'))).rejects.toMatchObject({ code: 'conversation_not_found' })
    const events = await as('ann').conversation('x').events()
    expect(events.flatMap((event) => (event.type === 'user_msg' ? [event.content.who] : []))).toEqual(['ann'])
    expect(events.some(({ type }) => type === 'superseded')).toBe(false)
  })

  test('retry is asked again where another user opened it since', async () => {
    const { as, isAsked, goOn } = heldUp()
    const retrying = as('bob').conversation('x', { agent: 'helper' }).retry()
    const refused = expect(retrying).rejects.toMatchObject({ code: 'conversation_not_found' })
    await isAsked
    await opens(as('ann'))
    goOn()
    await refused
    const said = (await as('ann').conversation('x').events()).filter(({ type }) => type === 'user_msg')
    expect(said).toHaveLength(1)
  })
})

/** A watcher of the conversation. */
function watching(verbs: Verbs) {
  const seen: WatchEvent[] = []
  const begun = gate()
  const stopping = new AbortController()
  let look = (): void => {}
  const watch = async (): Promise<WatchEvent[]> => {
    for await (const event of verbs.conversation('x').watch({ signal: stopping.signal })) {
      seen.push(event)
      begun.open()
      look()
    }
    return seen
  }
  const until = (isIt: (event: WatchEvent) => boolean): Promise<void> =>
    new Promise((resolve) => {
      look = () => seen.some(isIt) && resolve()
      look()
    })
  return { seen, until, hasBegun: begun.opened, ended: watch(), stop: () => stopping.abort() }
}

/** What a caller learns of a verb. */
async function toldBy(verb: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await verb }
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return { code, message }
  }
}
