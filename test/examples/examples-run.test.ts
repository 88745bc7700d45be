import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const entries = readdirSync(join(root, 'examples'), { withFileTypes: true })
const programs = entries.map(({ name }) => name).filter((name) => name.endsWith('.ts'))
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)

/** What each example prints, line by line. */
const printed: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'quickstart.ts': [
    'waiting:   refund {"orderId":"o-17","cents":4900}',
    'answer:    You have your 49 EUR back.',
    'payments:  1',
    /^the log: {3}user_msg, assistant_msg, tool_call, .*suspension, resolution, tool_started, .*turn_ended$/,
  ],
  'approval-from-a-webhook.ts': [
    'the channel shows: Refund 49.00 EUR for order o-17?',
    'forged:    401',
    'clicked:   200 thank you',
    'again:     200 ann has answered before',
    'answer:    You have your 49 EUR back. (refunds: 1)',
  ],
  'browser-tool.ts': [
    'locate ran in the browser; the answer was accepted',
    'the same answer from another tab came too late',
    'answer: You are in Vienna.',
  ],
  'retrieval-hook.ts': [
    'Can lamps be returned?   From returns: ...',
    'When is it shipped?      From shipping: ...',
    'Thanks!                  From memory: ...',
    'documents in the log: none',
  ],
  'guardrail.ts': [
    'My card is 4111 1111 1111 1111 -> halted: Please do not send card numbers.',
    'When does it come? -> completed: It usually comes within two days.',
    'written again, because: Do not promise what we cannot keep.',
    'What is my key? -> completed: Your key is [key].',
    'the key is nowhere in the log',
  ],
  'compaction.ts': [
    'messages in the log: 40',
    'the last call saw fewer: true',
    /^the first message was summarised: version \d+ of the summary covers the turns that ended by \d+$/,
    'between reductions, every prompt only grew',
  ],
  'flow.ts': [
    'waits for: {"ask":"manager","orderId":"o-17"}',
    'result: {"paid":4900,"feedback":"They are happy with it."}',
    'a second answer: not_suspended',
  ],
  'fork-and-compare.ts': [
    'support        big-model    19 words  Dear customer, thank you ever so much fo',
    'support-brief  big-model     9 words  Sorry, it is broken. You get a new one.',
    'support-small  small-model   8 words  It broke. We replace it at no cost.',
    'forks: 2, each at 4 of 6 events; the original is as it was',
  ],
  'multi-tenant-server.ts': [
    'ann: You have A-1 and A-2.',
    'eve: You have O-1.',
    'unknown: unauthenticated',
    'bob, of the same tenant, sees: the conversation',
    'eve, of another: conversation_not_found; for what does not exist: conversation_not_found',
    'eve lists: billing',
  ],
  'plain-http.ts': ['beside it: a page of your own', 'a stranger: 401', 'answer: Hello from http.'],
  'express.ts': ['beside it: a page of your own', 'a stranger: 401', 'streamed: Hello |from |Express.'],
  'fastify.ts': ['beside it: a page of your own', 'a stranger: 401', 'answer: Hello from Fastify.'],
  'snapshots-in-your-own-table.ts': [
    'acme:  You like tea.',
    'other: I do not know you yet.',
    'kept for acme: helper, on_shutdown',
    'kept for other: helper, on_shutdown',
  ],
  'mcp-server.ts': ['May refund run? Refund 50.00 EUR. {"cents":5000}', 'Refunded, once.'],
  'mcp-tools.ts': ['shop asks: Which size?', 'Ordered in another process.'],
  'todo-list.ts': [
    'asks:    Which tea? green or black',
    'answer:  I will make green tea.',
    'task 1:  boil water (open)',
    'task 2:  choose a tea (done)',
  ],
  'your-own-store.ts': ['Hello -> That was message 1.', 'Do you remember me? -> That was message 3.'],
}

describe.each(programs)('examples/%s', (name) => {
  test('prints what it shows, ends by itself, and leaves no file behind', async () => {
    const expected = printed[name]
    if (!expected) throw new Error(`There is no case for examples/${name}. Add what it prints to this test.`)
    const fromSource = join(root, 'test', 'support', 'perdure-from-source.ts')
    const args = ['--disable-warning=ExperimentalWarning', '--import', fromSource, join(root, 'examples', name)]
    const place = mkdtempSync(join(tmpdir(), 'perdure-'))
    const { stdout, stderr } = await run(process.execPath, args, {
      cwd: place,
      env: { ...withoutKeys(), TMPDIR: place },
    })
    expect({ stderr, left: readdirSync(place) }).toEqual({ stderr: '', left: [] })
    rmSync(place, { recursive: true })
    const lines = stdout.trimEnd().split('\n')
    expect(lines).toEqual(expected.map((line) => (line instanceof RegExp ? expect.stringMatching(line) : line)))
  })

  test('is short', () => {
    expect(linesOf(`examples/${name}`)).toBeLessThan(100)
  })

  test('is in the reading order', () => {
    expect(readFileSync(join(root, 'examples', 'README.md'), 'utf8')).toContain(`](${name})`)
  })
})

describe.each(folders)('examples/%s', (name) => {
  test('has a test of its own', () => {
    expect(existsSync(join(import.meta.dirname, `${name}.test.ts`))).toBe(true)
  })

  test('has only short files', () => {
    const files = readdirSync(join(root, 'examples', name)).filter((file) => /\.tsx?$/.test(file))
    expect(files.filter((file) => linesOf(`examples/${name}/${file}`) >= 100)).toEqual([])
  })

  test('is in the reading order', () => {
    expect(readFileSync(join(root, 'examples', 'README.md'), 'utf8')).toContain(`](${name}/`)
  })
})

test('every case has its example', () => {
  expect(Object.keys(printed).filter((name) => !programs.includes(name))).toEqual([])
})

function linesOf(file: string): number {
  return readFileSync(join(root, file), 'utf8').trimEnd().split('\n').length
}

/** The scripted model plays, whatever keys the machine has. */
function withoutKeys(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.endsWith('_API_KEY')))
}
