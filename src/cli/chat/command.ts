import { type Line, line, styled } from './line.ts'

/** What a typed line asks for. */
export type Command =
  | { readonly name: 'send' | 'steer' | 'unknown'; readonly text: string }
  | { readonly name: 'help'; readonly lines: readonly Line[] }
  | { readonly name: 'pending' | 'cancel' | 'quit' }

/** A line that begins with a slash is a command; two slashes send one. */
export function readCommand(typed: string): Command {
  if (!typed.startsWith('/')) return { name: 'send', text: typed }
  if (typed.startsWith('//')) return { name: 'send', text: typed.slice(1) }
  const [word = '', ...rest] = typed.slice(1).split(/\s+/)
  const text = rest.join(' ')
  switch (word) {
    case 'steer':
      return text === '' ? { name: 'unknown', text: '/steer has no message' } : { name: 'steer', text }
    case 'pending':
    case 'cancel':
    case 'quit':
      return { name: word }
    case 'exit':
      return { name: 'quit' }
    case 'help':
      return { name: 'help', lines: help }
    default:
      return { name: 'unknown', text: `there is no command /${word}` }
  }
}

const help: readonly Line[] = [
  ['/pending', 'ask again about everything that waits for an answer'],
  ['/steer <message>', 'hand a message to the turn that runs; other messages wait for its end'],
  ['/cancel', 'end the turn that runs (or Ctrl-C)'],
  ['/quit', 'leave (or Ctrl-D, or Ctrl-C twice); everything stays in the log'],
].map(([name = '', what = '']) => line(styled('bold', `  ${name.padEnd(18)}`), styled('dim', what)))
