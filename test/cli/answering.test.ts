import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main, perdure, perdureJson } from './perdure.ts'
import { keys, startInTerminal } from './start-in-terminal.ts'
import { openWorld, type World, ways } from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

afterAll(() => world.close())

describe.each(ways)('on a %s', (way) => {
  const onIt = (...args: string[]) => [...args, ...world.ways[way]]
  const named = (name: string) => `${name}-${way}`
  /** Who a command is: the token says so to a server. */
  const who = (name: string) => (way === 'store' ? ['--who', name] : [])
  const outcome = (id: string) => world.runtime.conversation(id).outcome()

  test('an approval runs the call, and a later one is told who was first', async () => {
    const id = named('approved')
    await world.say(id, 'A refund, please')
    const first = await perdure(onIt('approve', id, ...who('anna')))
    expect(first).toMatchObject({ code: 0, stdout: 'Approved: refund.\n', stderr: '' })
    expect(await outcome(id)).toMatchObject({ status: 'completed', text: 'All is done.' })
    const [second, third] = await Promise.all([
      perdure(onIt('approve', id)),
      perdureJson(onIt('deny', id, '--reason', 'no')),
    ])
    const winner = way === 'store' ? 'anna' : 'local'
    expect(second.code).toBe(4)
    expect(second.stdout).toMatch(new RegExp(`^Too late: ${winner} answered first, .*: approved\\.\n$`))
    expect(third).toMatchObject({ code: 4, value: { accepted: false, resolution: { who: winner, value: true } } })
  })

  test('retry sends the newest turn again, and needs force past what had an effect', async () => {
    const id = named('retried')
    await world.say(id, 'Hi')
    const again = await perdureJson(onIt('retry', id, '--key', 'k1'))
    expect(again).toMatchObject({ code: 0, value: { turnId: expect.any(String) } })
    expect(await perdureJson(onIt('retry', id, '--key', 'k1'))).toMatchObject({ value: again.value as object })
    expect((await outcome(id)).status).toBe('completed')
    await world.say(id, 'A refund, please')
    await perdure(onIt('approve', id))
    await outcome(id)
    const refused = await perdure(onIt('retry', id))
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('force: true')
    expect(refused.stderr).toContain('that is the option --force')
    expect(await perdure(onIt('retry', id, '--force'))).toMatchObject({ code: 0 })
    const { stdout } = await perdure(onIt('inbox'))
    const [row] = stdout.split('\n').filter((line) => line.startsWith(`${id} `))
    expect(row).toContain('(The same was done in the variant before this one.) {"cents":500}')
    expect((await outcome(id)).status).toBe('waiting')
  })

  test('rename gives a title and takes it away, and refuses both and neither', async () => {
    const id = named('titled')
    await world.say(id, 'Hi')
    const titleOf = async () => (await world.store.getConversation(id))?.title
    const given = await perdure(onIt('rename', id, 'Order 42'))
    expect(given).toMatchObject({ code: 0, stdout: 'Its title is Order 42.\n' })
    expect(await titleOf()).toBe('Order 42')
    const [neither, both, long, unknown] = await Promise.all([
      perdure(onIt('rename', id)),
      perdure(onIt('rename', id, 'Order 43', '--none')),
      perdure(onIt('rename', id, 'x'.repeat(1_001))),
      perdure(onIt('rename', 'no-such', 'Order 44')),
    ])
    for (const refused of [neither, both]) expect(refused.stderr).toContain('Give a title, or --none to take it away')
    for (const refused of [neither, both, long, unknown]) expect(refused.code).not.toBe(0)
    expect(await titleOf()).toBe('Order 42')
    const taken = await perdureJson(onIt('rename', id, '--none'))
    expect(taken).toMatchObject({ code: 0, value: { id, title: null } })
    expect(await titleOf()).toBeNull()
  })

  test('an answer with a key can be repeated', async () => {
    const id = named('keyed')
    await world.say(id, 'A refund, please')
    for (let times = 0; times < 2; times++) {
      expect(await perdure(onIt('approve', id, '--key', 'k1'))).toMatchObject({
        code: 0,
        stdout: 'Approved: refund.\n',
      })
    }
    expect((await perdure(onIt('approve', id, '--key', 'k2'))).code).toBe(4)
    expect((await perdure(onIt('deny', id, '--key', 'k1'))).stderr).toContain("The key 'answer/k1'")
  })

  test('the deadline of a call is moved, until it is answered', async () => {
    const id = named('extended')
    await world.say(id, 'A refund, please')
    const call = async () => (await world.runtime.conversation(id).view()).pending[0]!
    const moved = await perdure(onIt('extend', id, '--in', '2h'))
    const until = new Date((await call()).expiresAt!).toISOString()
    expect(moved).toMatchObject({ code: 0, stdout: `Extended: refund waits until ${until}.\n` })
    const never = await perdureJson(onIt('extend', id, '--never'))
    expect(never).toMatchObject({ code: 0, value: { accepted: true, expiresAt: null } })
    for (const wrong of [[], ['--in', '2 hours'], ['--in', '0s'], ['--in', '2h', '--never']]) {
      expect((await perdure(onIt('extend', id, ...wrong))).code).toBe(2)
    }
    expect((await perdure(onIt('approve', id))).code).toBe(0)
    expect((await perdure(onIt('extend', id, '--in', '2h'))).code).toBe(4)
  })

  test('a note is written, and shown among the events', async () => {
    const id = named('noted')
    await world.say(id, 'A refund, please')
    expect(await perdure(onIt('note', id, 'rated', '{"stars":5}'))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Noted as event \d+\.\n$/),
    })
    expect((await world.runtime.conversation(id).view()).notes).toMatchObject([{ name: 'rated', data: { stars: 5 } }])
    expect((await perdure(onIt('note', id, 'rated', '{stars'))).code).toBe(2)
    expect((await perdure(onIt('note', named('nowhere'), 'rated'))).code).toBe(3)
  })

  test('of two who answer at once, one wins', async () => {
    const id = named('raced')
    await world.say(id, 'A refund, please')
    const both = await Promise.all([perdure(onIt('approve', id)), perdure(onIt('deny', id))])
    expect(both.map(({ code }) => code).toSorted()).toEqual([0, 4])
  })

  test('edited arguments are checked, recorded and run', async () => {
    const id = named('edited')
    await world.say(id, 'A refund, please')
    const notJson = await perdure(onIt('approve', id, '--args', '{cents'))
    expect(notJson).toMatchObject({ code: 2, stdout: '' })
    expect(notJson.stderr).toContain('--args is not JSON')
    // A bare store has no code to check them with: there the tool does, when it runs.
    if (way === 'server') expect((await perdure(onIt('approve', id, '--args', '{"cents":"many"}'))).code).toBe(2)
    const edited = await perdure(onIt('approve', id, '--args', '-'), { stdin: '{"cents":7}' })
    expect(edited.code).toBe(0)
    await outcome(id)
    const shown = await perdure(onIt('show', id))
    expect(shown.stdout).toContain(
      '▸ refund {"cents":500}\n    a person changed the arguments to {"cents":7}\n  ✓ refund {"paid":7}',
    )
  })

  test('a denial tells the model why', async () => {
    const id = named('denied')
    await world.say(id, 'A refund, please')
    expect(await perdure(onIt('deny', id, '--reason', 'Too old.'))).toMatchObject({ code: 0 })
    await outcome(id)
    const events = await world.store.streamEvents(id)
    expect(events.find(({ type }) => type === 'resolution')?.content).toMatchObject({ value: { reason: 'Too old.' } })
  })

  test('an answer is checked against the schema of the question', async () => {
    const id = named('sized')
    await world.say(id, 'Ask for my size')
    const [missing, wrongKind, misfit] = await Promise.all([
      perdure(onIt('answer', id)),
      perdure(onIt('approve', id)),
      perdure(onIt('answer', id, '{"size":"XXL"}', '--json')),
    ])
    expect(missing).toMatchObject({ code: 2, stdout: '' })
    expect(missing.stderr).toContain('its JSON Schema: {')
    expect(wrongKind).toMatchObject({ code: 3 })
    expect(misfit.code).toBe(2)
    expect(JSON.parse(misfit.stderr).error.code).toBe('invalid_answer')
    expect(await perdure(onIt('answer', id, '{"size":"M"}'))).toMatchObject({ code: 0, stdout: 'Answered: size.\n' })
    expect(await outcome(id)).toMatchObject({ status: 'completed' })
  })

  test('a question of ask_user is shown with its options, and answered with one of them or in other words', async () => {
    const [chosen, other] = [named('chosen'), named('other')]
    await Promise.all([world.say(chosen, 'Ask for my colour'), world.say(other, 'Ask for my colour')])
    const { stdout } = await perdure(onIt('show', chosen))
    for (const told of ['Which colour?', 'Blue', 'Red']) expect(stdout).toContain(told)
    const [misfit, both] = await Promise.all([
      perdure(onIt('answer', chosen, '{"choice":"Green"}')),
      perdure(onIt('answer', chosen, '{"choice":"Blue","other":"Green"}')),
    ])
    expect([misfit.code, both.code]).toEqual([2, 2])
    const taken = await perdure(onIt('answer', chosen, '{"choice":"Blue"}'))
    expect(taken).toMatchObject({ code: 0, stdout: 'Answered: ask_user.\n' })
    expect(await perdureJson(onIt('answer', other, '{"other":"Green"}'))).toMatchObject({ code: 0 })
    const resultOf = async (id: string) =>
      (await world.runtime.conversation(id).view()).messages
        .flatMap(({ parts }) => parts)
        .flatMap((part) => (part.type === 'call' && part.end?.ok ? [part.end.result] : []))
    for (const id of [chosen, other]) expect(await outcome(id)).toMatchObject({ status: 'completed' })
    expect(await resultOf(chosen)).toEqual([{ choice: 'Blue' }])
    expect(await resultOf(other)).toEqual([{ other: 'Green' }])
    expect((await perdure(onIt('answer', chosen, '{"choice":"Red"}'))).code).toBe(4)
  })

  test('what a child agent waits for is answered from the conversation above it', async () => {
    const id = named('boss')
    await world.say(id, 'Please delegate that')
    const shown = await perdure(onIt('show', id))
    const call = /--call (\w+)/.exec(shown.stdout)![1]!
    expect(await perdure(onIt('approve', id, '--call', call))).toMatchObject({ code: 0 })
    expect(await outcome(id)).toMatchObject({ status: 'completed' })
  })

  test('cancel ends the open turn, and says when there is none', async () => {
    const id = named('cancelled')
    await world.say(id, 'A refund, please')
    expect(await perdure(onIt('cancel', id))).toMatchObject({ code: 0, stdout: 'The turn is cancelled.\n' })
    expect(await perdureJson(onIt('cancel', id))).toEqual({ code: 0, value: { outcome: null } })
  })

  test('fork copies up to an event, once under each id', async () => {
    const id = named('original')
    await world.say(id, 'Hello')
    const forked = await perdureJson(onIt('fork', id, '--at', '1', '--as', `${id}-b`))
    expect(forked).toMatchObject({ code: 0, value: { id: `${id}-b`, from: id, at: 1 } })
    expect(await world.store.streamEvents(`${id}-b`)).toHaveLength(1)
    const [again, past, notANumber] = await Promise.all([
      perdure(onIt('fork', id, '--as', `${id}-b`)),
      perdure(onIt('fork', id, '--at', '99')),
      perdure(onIt('fork', id, '--at', 'two')),
    ])
    expect([again.code, past.code, notANumber.code]).toEqual([4, 2, 2])
  })
})

describe('a flow', () => {
  test('is started and resumed over a server, by one of all who try', async () => {
    const onIt = (...args: string[]) => ['flows', ...args, ...world.ways.server]
    const started = await perdureJson(onIt('start', 'greeting', 'g1', '"Hi"'))
    expect(started).toEqual({ code: 0, value: { id: 'g1', status: 'waiting', tag: 'name?' } })
    const [taken, unknown] = await Promise.all([
      perdure(onIt('start', 'greeting', 'g1', '"Hi"')),
      perdure(onIt('start', 'farewell', 'g2')),
    ])
    expect([taken.code, unknown.code]).toEqual([4, 3])
    expect(await perdure(onIt('resume', 'greeting', 'g1', '"Bo"'))).toMatchObject({
      code: 0,
      stdout: 'g1 is done: "Hi, Bo"\n',
    })
    expect(await perdure(onIt('resume', 'greeting', 'g1', '"Al"'))).toMatchObject({ code: 4, stdout: '' })
  })

  test('is resumed on a store without its code, once, and goes on where the code is', async () => {
    await world.runtime.flow('greeting', 'g4').start('Hi')
    const resume = (value: string) => ['flows', 'resume', 'greeting', 'g4', value, '--seq', '2', ...world.ways.store]
    expect(await perdure(resume('"Cy"'))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/g4 is (recorded\.|done: )/),
    })
    expect(await world.runtime.flow('greeting', 'g4').outcome()).toEqual({ status: 'done', result: 'Hi, Cy' })
    expect(await perdure(resume('"Al"'))).toMatchObject({ code: 4, stdout: '' })
    const { code, stderr } = await perdure(['show', 'g4', ...world.ways.store])
    expect([code, stderr]).toMatchObject([4, expect.stringContaining("runtime.flow('greeting', 'g4')")])
  })

  test('cannot be started on a store without its code', async () => {
    const { code, stderr } = await perdure(['flows', 'start', 'greeting', 'g3', ...world.ways.store])
    expect(code).toBe(3)
    expect(stderr).toContain("There is no flow 'greeting' here")
  })
})

test('a person at a terminal is asked field by field, until the answer fits', async () => {
  await world.say('form', 'Ask for my size')
  const terminal = startInTerminal([main, 'answer', 'form', ...world.ways.store], {
    cwd: world.folder,
    isForeign: true,
  })
  await terminal.shows('size (1 S, 2 M)')
  terminal.type(`XXL${keys.enter}`)
  await terminal.shows(/choose one of 1 S, 2 M[\s\S]*size \(1 S, 2 M\)/)
  terminal.type(`M${keys.enter}`)
  await terminal.shows('Answered: size.')
  expect(await terminal.exited()).toMatchObject({ exitCode: 0 })
  expect(await world.runtime.conversation('form').outcome()).toMatchObject({ status: 'completed' })
})

test('leaving a question with Ctrl-C answers nothing', async () => {
  await world.say('left', 'Ask for my size')
  const terminal = startInTerminal([main, 'answer', 'left', ...world.ways.store], {
    cwd: world.folder,
    isForeign: true,
  })
  await terminal.shows('size (1 S, 2 M)')
  terminal.type(keys.ctrlC)
  expect(await terminal.exited()).toMatchObject({ exitCode: 130 })
  expect((await world.runtime.conversation('left').view()).pending).toHaveLength(1)
})
