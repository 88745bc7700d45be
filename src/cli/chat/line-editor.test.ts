import { expect, test } from 'vitest'
import { type Edited, editLine, type Key } from './line-editor.ts'

/** `|` is the cursor. */
function edited(text: string): Edited {
  const [before = '', after = ''] = text.split('|')
  return { before, after }
}

function key(pressed: string): Key {
  const ctrl = pressed.startsWith('^')
  const meta = pressed.startsWith('M-')
  const name = pressed.replace(/^(\^|M-)/, '')
  const isText = !ctrl && !meta && [...name].length < 2
  return { name: isText ? '' : name, ctrl, meta, text: isText ? name : '' }
}

test.each([
  ['a|', 'b', 'ab|'],
  ['|', '東', '東|'],
  ['a|c', 'b', 'ab|c'],
  ['ab|', 'backspace', 'a|'],
  ['|ab', 'backspace', '|ab'],
  ['🇨🇭|', 'backspace', '|'],
  ['a|bc', 'delete', 'a|c'],
  ['a|bc', '^d', 'a|c'],
  ['ab|c', 'left', 'a|bc'],
  ['ab|c', 'right', 'abc|'],
  ['ab|c', 'home', '|abc'],
  ['ab|c', '^a', '|abc'],
  ['a|bc', 'end', 'abc|'],
  ['a|bc', '^e', 'abc|'],
  ['ab|c', '^u', '|c'],
  ['ab|c', '^k', 'ab|'],
  ['one two |x', '^w', 'one |x'],
  ['one two|', 'M-backspace', 'one |'],
  ['ab|', '^h', 'a|'],
  ['ab|', '^q', 'ab|'],
  ['ab|', 'f5', 'ab|'],
])('%s, %s: %s', (before, pressed, after) => {
  expect(editLine(edited(before), key(pressed))).toEqual(edited(after))
})

test('a control character is not typed', () => {
  expect(editLine(edited('a|'), { name: '', ctrl: false, meta: false, text: '\u001b[2J' })).toEqual(edited('a|'))
})
