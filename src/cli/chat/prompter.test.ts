import { expect, test } from 'vitest'
import { joined, SafeText, safely } from '../terminal/text.ts'
import { type Key, Prompter } from './prompter.ts'

function key(pressed: string): Key {
  const ctrl = pressed.startsWith('^')
  const meta = pressed.startsWith('M-')
  const name = pressed.replace(/^(\^|M-)/, '')
  const isText = !ctrl && !meta && [...name].length < 2
  return { name: isText ? '' : name, ctrl, meta, text: isText ? name : '' }
}

const label = new SafeText('> ')

/** The line after the keys, with `|` for the cursor. */
function typed(initial: string, ...keys: readonly (string | Key)[]): string {
  const prompter = new Prompter(() => {})
  void prompter.ask({ label, initial })
  for (const pressed of keys) prompter.press(typeof pressed === 'string' ? key(pressed) : pressed)
  const { rows, cursor } = prompter.rows(200)
  const text = safely(joined(rows))
  const line = `${text.slice(0, cursor.column)}|${text.slice(cursor.column)}`
  prompter.leave()
  return line.slice(label.text.length)
}

test.each<[string, string[], string]>([
  ['', ['a', 'b'], 'ab|'],
  ['ac', ['left', 'b'], 'ab|c'],
  ['ab', ['backspace'], 'a|'],
  ['ab', ['home', 'backspace'], '|ab'],
  ['abc', ['left', 'left', 'delete'], 'a|c'],
  ['abc', ['left', 'left', '^d'], 'a|c'],
  ['abc', ['^a'], '|abc'],
  ['abc', ['^a', '^e'], 'abc|'],
  ['abc', ['left', '^u'], '|c'],
  ['abc', ['left', '^k'], 'ab|'],
  ['one two', ['^w'], 'one |'],
  ['one two', ['M-backspace'], 'one |'],
  ['one two', ['M-b', 'x'], 'one x|two'],
  ['ab', ['f5', 'tab', '^q', '^z', '^c'], 'ab|'],
])('%j, then %j: %s', (initial, keys, line) => {
  expect(typed(initial, ...keys)).toBe(line)
})

test('a control character is not typed', () => {
  expect(typed('a', { name: '', ctrl: false, meta: false, text: '\u001b[2J' })).toBe('a|')
})

test('a long line is broken at the edge, and the cursor is where it is typed', () => {
  const prompter = new Prompter(() => {})
  void prompter.ask({ label, initial: 'ab 東京 cd' })
  const { rows, cursor } = prompter.rows(6)
  expect([rows.map(safely), cursor]).toEqual([['> ab ', '東京 c', 'd'], { row: 2, column: 1 }])
  prompter.leave()
})

test('Enter gives the line, Escape gives null, and the arrow up brings earlier lines back', async () => {
  const prompter = new Prompter(() => {})
  const first = prompter.ask({ label, history: ['one', 'two'] })
  for (const name of ['up', 'up', 'return']) prompter.press(key(name))
  expect(await first).toBe('one')
  const second = prompter.ask({ label, initial: 'half' })
  prompter.press(key('escape'))
  expect(await second).toBe(null)
})

test('keys pressed before a question are typed only where it takes them', async () => {
  const prompter = new Prompter(() => {})
  for (const name of ['y', 'return']) prompter.press(key(name))
  const answer = prompter.ask({ label })
  expect([prompter.isAsking, prompter.text]).toEqual([true, ''])
  prompter.leave()
  expect(await answer).toBe(null)
  for (const name of ['h', 'i', 'return']) prompter.press(key(name))
  expect(await prompter.ask({ label, takesTypeAhead: true })).toBe('hi')
})
