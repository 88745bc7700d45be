import { describe, expect, test } from 'vitest'
import { showcaseIds } from '../../src/cli/demo/fill-showcase.ts'
import { createClient } from '../../src/client/create-client.ts'
import { demoLives } from './demo-lives.ts'
import { keys } from './start-in-terminal.ts'

const lives = demoLives()

describe('the demo in a terminal', { timeout: 60_000 }, () => {
  test('says where everything is, and answers', async () => {
    const demo = lives.live('quick')
    await demo.shows(`kill -9 ${demo.pid}`)
    await demo.shows(/http:\/\/127\.0\.0\.1:\d+/)
    await demo.shows('.perdure/perdure.db')
    await demo.shows('npm run -s perdure -- inbox')
    demo.type(`hello${keys.enter}`)
    await demo.shows('a short script that plays one')
  })

  test('Ctrl-C cancels the turn and not the program; twice at the prompt it leaves', async () => {
    const demo = lives.live('slow')
    await demo.shows('›')
    demo.type(`tell me a story${keys.enter}`)
    await demo.shows('Once')
    demo.type(keys.ctrlC)
    await demo.shows('the turn was cancelled')
    demo.type(`hello${keys.enter}`)
    await demo.shows('Hello!')
    demo.type(keys.ctrlC)
    await demo.shows(/the turn was cancelled[\s\S]*the turn was cancelled/)
    demo.type(keys.ctrlC)
    await demo.shows('press Ctrl-C again')
    demo.type(keys.ctrlC)
    expect(await demo.exited()).toMatchObject({ exitCode: 0 })
    const statuses = (await lives.log()).flatMap((event) => (event.type === 'turn_ended' ? [event.content.status] : []))
    expect(statuses).toEqual(['cancelled', 'cancelled'])
  })

  test('a message typed while a turn runs is queued, and is the next turn; /steer hands one to the turn', async () => {
    const demo = lives.live('slow')
    await demo.shows('›')
    demo.type(`report${keys.enter}`)
    await demo.shows('counting Monday')
    demo.type(`hello${keys.enter}`)
    await demo.shows('queued: hello')
    demo.type(`/steer and the lanterns${keys.enter}`)
    await demo.shows('you › and the lanterns')
    expect(demo.text()).not.toContain('you › hello')
    demo.type(keys.ctrlC)
    await demo.shows('you › hello')
    expect(demo.text()).not.toContain('queued:')
  })

  test('what is being typed when a question comes is not taken for its answer', async () => {
    const demo = lives.live('quick')
    await demo.shows('›')
    demo.type(`refund order 1234${keys.enter}y`)
    await demo.shows('a question waits until this line is sent or cleared')
    await demo.shows('› y')
    demo.type(keys.ctrlU)
    await demo.shows('approve?')
    demo.type(`n${keys.enter}`)
    await demo.shows('reason')
    demo.type(keys.enter)
    await demo.shows('The refund did not go through')
    expect(lives.ledger()).toEqual([])
  })

  test('arguments can be changed; what does not fit is refused, and what fits is paid once', async () => {
    const demo = lives.live('quick')
    await demo.shows('›')
    demo.type(`refund order 1234${keys.enter}`)
    await demo.shows('approve?')
    demo.type(`e${keys.enter}`)
    await demo.shows('arguments › {"orderId":"1234","cents":4990}')
    demo.type(`${keys.ctrlU}{"orderId":"1234","cents":"all"}${keys.enter}`)
    await demo.shows(/edited arguments.*cents/)
    demo.type(`e${keys.enter}`)
    await demo.shows(/edited arguments[\s\S]*arguments › /)
    demo.type(`${keys.ctrlU}{"orderId":"1234","cents":1000}${keys.enter}`)
    await demo.shows('with changed arguments: {"orderId":"1234","cents":1000}')
    await demo.shows('Done: 10.00 EUR went back')
    expect(lives.ledger()).toMatchObject([{ orderId: '1234', cents: 1000 }])
  })

  test('a question is a form that checks each field', async () => {
    const demo = lives.live('quick')
    await demo.shows('›')
    demo.type(`complaint${keys.enter}`)
    await demo.shows('what (1 it broke, 2 it came late, 3 something else) ›')
    demo.type(`7${keys.enter}`)
    await demo.shows('choose one of')
    demo.type(`${keys.ctrlU}2${keys.enter}`)
    await demo.shows('stars (a whole number from 1 to 5) ›')
    demo.type(`6${keys.enter}`)
    await demo.shows('That does not fit: a whole number from 1 to 5.')
    demo.type(`${keys.ctrlU}4${keys.enter}`)
    await demo.shows('may we call you back (yes or no) ›')
    demo.type(`no${keys.enter}`)
    await demo.shows('in your own words (Enter: none) ›')
    demo.type(keys.enter)
    await demo.shows('{"what":"it came late","stars":4,"callBack":false}')
    await demo.shows('Thank you. I wrote down: it came late, 4 of 5 stars.')
  })

  test('what a child agent asks is shown with its place, and is denied with a reason', async () => {
    const demo = lives.live('quick')
    await demo.shows('›')
    demo.type(`research the switch${keys.enter}`)
    await demo.shows('research › ask_supplier needs approval')
    await demo.shows('approve?')
    demo.type(`n${keys.enter}`)
    await demo.shows('reason')
    demo.type(`not today${keys.enter}`)
    await demo.shows(/denied by \S+: not today/)
    await demo.shows('the supplier was not asked')
  })

  test('Ctrl-C at a question leaves the call waiting, and so does leaving the chat', async () => {
    const demo = lives.live('quick')
    await demo.shows('›')
    demo.type(`refund order 1235${keys.enter}`)
    await demo.shows('approve?')
    demo.type(`n${keys.enter}`)
    await demo.shows('reason')
    demo.type(keys.ctrlC)
    await demo.shows('it keeps waiting; /pending asks again, /cancel ends the turn')
    await demo.shows('1 left for later')
    demo.type(keys.ctrlC)
    await demo.shows('press Ctrl-C again')
    demo.type(keys.ctrlC)
    expect(await demo.exited()).toMatchObject({ exitCode: 0 })
    expect((await lives.log()).map(({ type }) => type)).not.toContain('cancel_requested')
    await lives.elsewhere('approve', 'demo', '--who', 'kim')
    const again = lives.live('quick')
    await again.shows('Done: 89.00 EUR')
  })

  test('an answer from elsewhere ends the question and says who gave it; what is left for later is asked again', async () => {
    const demo = lives.live('quick')
    await demo.shows('›')
    demo.type(`refund order 1235${keys.enter}`)
    await demo.shows('approve?')
    demo.type(`l${keys.enter}`)
    await demo.shows('1 left for later')
    demo.type(`/pending${keys.enter}`)
    await demo.shows('approve?')
    await lives.elsewhere('approve', 'demo', '--who', 'kim')
    await demo.shows('approved by kim')
    await demo.shows('Done: 89.00 EUR')
    expect(demo.text()).not.toContain('approve?')
    demo.type(`research the switch${keys.enter}`)
    await demo.shows('research › ask_supplier needs approval')
    await lives.elsewhere('deny', 'demo', '--who', 'lee', '--reason', 'no need')
    await demo.shows('denied by lee: no need')
  })

  test('a flow waits for its parcel over a kill', async () => {
    const first = lives.live('quick')
    await first.shows('›')
    first.type(`return order 1235${keys.enter}`)
    await first.shows('A return has begun')
    await first.kill('SIGKILL')
    const second = lives.live('quick')
    await second.shows('A return has begun')
    second.type(`the parcel of 1235 arrived${keys.enter}`)
    await second.shows('back on the shelf.')
  })

  test('a second one is at the same conversation and the same server, which stays when the second leaves', async () => {
    const first = lives.live('quick')
    await first.shows('›')
    const second = lives.live('quick')
    await second.shows('›')
    const url = /http:\/\/[^/\s]+/.exec(first.text())?.[0] ?? ''
    expect(second.text()).toContain(url)
    first.type(`refund order 1236${keys.enter}`)
    await second.shows('approve?')
    second.type(`y${keys.enter}`)
    await first.shows('Done: 12.50 EUR')
    second.type(keys.ctrlD)
    await second.exited()
    expect(await lives.elsewhere('list', '--url', url)).toContain('demo')
    expect(lives.ledger()).toHaveLength(1)
  })

  test('the address opens the studio, and there is something on every page of it', async () => {
    const demo = lives.start('demo', '--port', '0', '--offline')
    await demo.shows(/studio {2}http:\/\/127\.0\.0\.1:\d+\/studio#code=[\w-]{24}/)
    const [, studio, code] = /(http:\/\/\S+\/studio)#code=([\w-]{24})/.exec(demo.text())!
    expect(await (await fetch(`${studio}/inbox`)).text()).toContain('<title>Perdure</title>')
    const exchanged = await fetch(`${studio}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    })
    const tokens = (await exchanged.json()) as { token: string; operatorToken: string }
    const client = createClient({ url: studio!.replace(/\/studio$/, ''), ...tokens })
    await expect
      .poll(async () => (await client.sessions()).sessions.map(({ status }) => status), { timeout: 30_000 })
      .toEqual(['done', 'waiting'])
    const { conversations } = await client.conversations({ limit: 100 })
    expect(conversations.map(({ id }) => id)).toEqual(expect.arrayContaining([...showcaseIds]))
    const { items } = await client.inbox()
    expect(new Set(items.map(({ tool }) => tool))).toEqual(
      new Set(['refund', 'ask_address', 'choose_colour', 'ask_supplier', 'suspend']),
    )
    const ends = async (id: string) =>
      (await lives.log(id)).flatMap((event) => (event.type === 'turn_ended' ? [event.content.status] : []))
    expect([await ends('ticket-47'), await ends('ticket-49'), await ends('ticket-50')]).toEqual([
      ['failed'],
      ['failed', 'completed'],
      ['cancelled'],
    ])
    const calls = await client.conversation('garden').modelCalls()
    expect(JSON.stringify(calls)).toContain('summary/')
    await demo.kill('SIGKILL')
    const again = lives.start('demo', '--port', '0', '--offline')
    await again.shows('›')
    expect((await lives.log('ticket-42')).filter(({ type }) => type === 'user_msg')).toHaveLength(1)
  })
})
