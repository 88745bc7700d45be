import type { Case, Mutant } from './mutant.ts'

const session = 'src/openai-agents/perdure-session.ts'
const story = (test: string): Case => ({ file: 'test/stories/openai-agents.test.ts', test })
const once = story('an operation is applied once, however often it is sent, and its id stands for nothing else')
const popped = story('items are popped once each by several at a time, and a cleared session is empty and goes on')
const long = story('an item may be longer than a note, and a history longer than a page')

const planted: readonly (readonly [string, file: string, find: string, replace: string, killedBy: Case])[] = [
  ['an operation has no key', session, 'key: `operation/${operationId}`', 'key: `operation/${uuidV7()}`', once],
  ['an id stands for any transaction', session, ".update(said).digest('hex')", ".digest('hex')", once],
  ['a repeated replacement looks for its end again', session, '(await log.wasApplied(once))', 'false', once],
  ['an end is replaced whatever it is', session, '!isSameJson(newest, suffix)', 'newest.length < 0', once],
  [
    'two pops take the same item',
    session,
    'key: `change/${uuidV7()}`, after: end })',
    'key: `change/${uuidV7()}` })',
    popped,
  ],
  [
    'a cleared session keeps its items',
    session,
    "if (record.drop === 'all') break",
    "if (record.drop === 'all') continue",
    popped,
  ],
  [
    'a record that begins on an earlier page is lost',
    'src/store/record-log.ts',
    'const events = [...page.events, ...later]',
    'const events = page.events',
    long,
  ],
  [
    'a person adds to a session with a note',
    'src/store/record-log.ts',
    ' || event.content.who !== writer',
    '',
    story('a person who may leave notes cannot add to a session'),
  ],
]

/** Bugs of sessions of OpenAI Agents: each loses an item, or keeps one twice. */
export const openaiAgentsMutants: readonly Mutant[] = planted.map(([name, file, find, replace, killedBy]) => ({
  name: `openai-agents: ${name}`,
  edits: [{ file, find, replace }],
  killedBy: [killedBy],
}))
