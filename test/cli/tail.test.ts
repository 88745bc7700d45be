import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { perdure, startPerdure } from './perdure.ts'
import { openWorld, type World, ways } from './world.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

afterAll(() => world.close())

describe.each(ways)('on a %s', (way) => {
  const onIt = (...args: string[]) => [...args, ...world.ways[way]]

  test('tail follows a conversation until Ctrl-C, and says where to go on', async () => {
    const id = `followed-${way}`
    await world.say(id, 'Hello')
    const [text, json] = [startPerdure(onIt('tail', id)), startPerdure(onIt('tail', id, '--json', '--after', '1'))]
    await Promise.all([text.until('Hello.'), json.until('"turn_ended"')])
    await world.say(id, 'A refund, please')
    await text.until('refund needs approval')
    const view = await world.runtime.conversation(id).view()
    await world.runtime.conversation(id).approve(view.pending[0]!)
    await Promise.all([text.until('All is done.'), json.until('"seq":12')])
    for (const running of [text, json]) running.process.kill('SIGINT')
    const [ended, lines] = await Promise.all([text.ended, json.ended])
    expect([ended.code, lines.code]).toEqual([130, 130])
    expect(ended.stdout).toContain(`perdure -- approve ${id} --call`)
    expect(ended.stdout).toMatch(/✓ refund \{"paid":500\}/)
    expect(ended.stdout.match(/Let me see\./g)).toHaveLength(1)
    expect(ended.stdout.match(/All is done\./g)).toHaveLength(1)
    expect(ended.stderr).toMatch(new RegExp(`Continue with: npm run -s perdure -- tail ${id} --after \\d+ --`))
    const events = lines.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event)
    const seqs = events.filter((event) => 'content' in event).map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, index) => index + 2))
  })
})

test('text is shown as a server streams it', async () => {
  await world.say('streamed', 'Hello')
  const running = startPerdure(['tail', 'streamed', ...world.ways.server])
  await running.until('Hello.')
  const turn = await world.runtime.conversation('streamed').send('Say it slowly')
  await running.until('One two')
  expect((await world.runtime.conversation('streamed').view()).phase).toBe('running')
  await turn.outcome()
  await running.until('the turn was completed')
  running.process.kill('SIGINT')
  const { stdout } = await running.ended
  expect(stdout).toContain('support › One two three four\n')
  expect(stdout.match(/One two/g)).toHaveLength(1)
})

test('a reader that leaves early ends it, and is no failure', async () => {
  await world.say('left', 'Hello')
  const running = startPerdure(['tail', 'left', ...world.ways.server])
  await running.until('Hello.')
  running.process.stdout.destroy()
  await world.say('left', 'Still there?')
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
})

test('what a model writes cannot act on the terminal', async () => {
  await world.say('evil', 'Be evil')
  const [shown, json] = await Promise.all([
    perdure(['show', 'evil', ...world.ways.store]),
    perdure(['show', 'evil', '--json', ...world.ways.store]),
  ])
  expect(shown.stdout).toContain('\\x1b[2J\\x9b31m\\u202eevil\\x07')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
  const dangerous = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/
  expect(shown.stdout).not.toMatch(dangerous)
  expect(json.stdout).not.toMatch(dangerous)
  expect(JSON.parse(json.stdout).messages[1].parts[0].text).toBe('\u001b[2J\u009b31m\u202eevil\u0007')
})
