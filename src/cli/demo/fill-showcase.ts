import { createScope, type Scope } from '../../define/scope.ts'
import type { Runtime, Verbs } from '../../runtime/runtime.ts'
import type { Showcase } from './showcase.ts'

export type FillOptions = {
  /** The person at the terminal. */
  readonly user: string
  /** Aborts between two conversations. */
  readonly signal?: AbortSignal
}

/** The conversations that `fillShowcase` makes, for `--fresh`. */
export const showcaseIds = [
  'hello',
  'ticket-42',
  'ticket-43',
  'ticket-44',
  'ticket-45',
  'ticket-46',
  'ticket-47',
  'ticket-48',
  'ticket-48-fork',
  'ticket-49',
  'ticket-50',
  'ticket-51',
  'ticket-52',
  'garden',
] as const

/** Examples of everything, so that no page of the studio is empty. Each conversation is created once: a start after a kill creates those that are missing. */
export async function fillShowcase(
  runtime: Pick<Runtime, 'as'>,
  shown: Showcase,
  { user, signal }: FillOptions,
): Promise<void> {
  const as = (name: string): Verbs => runtime.as(createScope({ user: name }) as Scope)
  const [me, bob, eve] = [as(user), as('bob'), as('eve')]
  const talks: Readonly<Record<string, () => Promise<void>>> = {
    async hello() {
      await say(me, 'hello', 'Hi there')
      await say(me, 'hello', 'How are you?')
    },
    // An approval with arguments, for a week.
    'ticket-42': () => say(me, 'ticket-42', 'My lamp is broken, I want a refund'),
    async 'ticket-43'() {
      await say(bob, 'ticket-43', 'Good morning')
      await say(bob, 'ticket-43', 'A refund for the garden lantern, please. It came far too late')
    },
    // A form, for three quarters of an hour.
    'ticket-44': () => say(bob, 'ticket-44', 'Take my address for the new one'),
    // A choice.
    'ticket-45': () => say(me, 'ticket-45', 'Ask me for the colour'),
    // A child agent that waits itself.
    'ticket-46': () => say(me, 'ticket-46', 'Please research the switch'),
    // A failed turn.
    async 'ticket-47'() {
      await whileDown(() => say(me, 'ticket-47', 'Is anyone there?'))
    },
    // Approved with other arguments; a fork beside it.
    async 'ticket-48'() {
      await say(me, 'ticket-48', 'A refund for o-17')
      const talk = me.conversation('ticket-48')
      const { pending } = await talk.view()
      await eve.conversation('ticket-48').approve(pending[0]!.callId, { args: { orderId: 'o-17', cents: 4500 } })
      await talk.outcome()
      await say(me, 'ticket-48', 'Thank you')
      await talk.rename('Refund of the reading lamp')
    },
    async 'ticket-48-fork'() {
      const talk = me.conversation('ticket-48')
      const asked = (await talk.events()).find(({ type }) => type === 'user_msg')
      const fork = await talk.fork({ at: asked!.seq, id: 'ticket-48-fork' })
      await fork.continue()
      await fork.outcome()
      const { pending } = await fork.view()
      await fork.deny(pending[0]!.callId, { reason: 'The lamp is older than two years.' })
      await fork.outcome()
      await fork.rename('What if it were denied')
    },
    // Failed once, and tried again.
    async 'ticket-49'() {
      const turn = await whileDown(async () => {
        const sent = await talkWith(bob, 'ticket-49').send('Hello, is the shop open?')
        await sent.outcome()
        return sent
      })
      const again = await bob.conversation('ticket-49').retry(turn.turnId)
      await again.outcome()
    },
    // Cancelled in mid-sentence.
    async 'ticket-50'() {
      const turn = await talkWith(me, 'ticket-50').send('Tell me a story')
      for await (const _ of turn.textStream) break
      await me.conversation('ticket-50').cancel()
    },
    // Denied with a reason.
    async 'ticket-51'() {
      await say(bob, 'ticket-51', 'A refund for the lantern')
      const talk = bob.conversation('ticket-51')
      const { pending } = await talk.view()
      await eve.conversation('ticket-51').deny(pending[0]!.callId, { reason: 'It was never paid for.' })
      await talk.outcome()
    },
    // A child agent that is done.
    'ticket-52': async () => {
      await say(me, 'ticket-52', 'Please research the switch. Only the notes')
      const { pending } = await me.conversation('ticket-52').view()
      for (const { callId } of pending) await me.conversation('ticket-52').approve(callId)
      await me.conversation('ticket-52').outcome()
    },
    // So long that its beginning is summarised.
    async garden() {
      const talk = me.conversation('garden', { agent: shown.gardener })
      for (let fact = 1; fact <= 20; fact += 1) {
        const told =
          fact === 1 ? 'There is a pear tree by the gate.' : `Fact ${fact}: a bed of flowers of kind ${fact}.`
        await (await talk.send(told)).outcome()
      }
      await talk.rename('Everything about the garden')
    },
  }

  for (const id of showcaseIds) {
    if (signal?.aborted) return
    if ((await me.inspect(id).record()) === null) await talks[id]!()
  }
  await session('return-1', false)
  await session('return-2', true)

  async function session(id: string, isDone: boolean): Promise<void> {
    if (signal?.aborted) return
    const flow = me.flow('return', id)
    if ((await flow.status()) !== 'none') return
    await flow.start({ orderId: isDone ? 'o-18' : 'o-17' })
    if (isDone) await flow.resume(true)
  }

  function talkWith(verbs: Verbs, id: string) {
    return verbs.conversation(id, { agent: shown.desk })
  }

  async function say(verbs: Verbs, id: string, text: string): Promise<void> {
    await (await talkWith(verbs, id).send(text)).outcome()
  }

  async function whileDown<T>(work: () => Promise<T>): Promise<T> {
    shown.setDown(true)
    try {
      return await work()
    } finally {
      shown.setDown(false)
    }
  }
}
