import { join, relative } from 'node:path'
import { type Line, line, styled } from '../chat/line.ts'
import { isFromSource, perdureCommand } from '../transcript/pending-lines.ts'
import type { DemoModels } from './demo-models.ts'

export type Introduced = {
  readonly storeFile: string
  readonly models: DemoModels
  readonly url: string
  readonly pid: number
  readonly hasBegun: boolean
}

export function demoIntroduction({ storeFile, models, url, pid, hasBegun }: Introduced): Line[] {
  const real = 'or set ANTHROPIC_API_KEY, OPENAI_API_KEY'
  const lines = [
    line(styled('bold', 'Perdure demo'), ': a support agent that survives kill -9'),
    line(),
    row('model', models.label, models.isScripted ? ` (${real})` : ' (--offline for the script)'),
    row('log', relative(process.cwd(), storeFile) || storeFile, ' (--fresh forgets it)'),
    row('server', url, ''),
    row('kill', `kill -9 ${pid}`, ` at any moment, then ${start()}`),
    row('answer', `${perdureCommand()} inbox${storeOption(storeFile)}`, ' from another terminal, running or not'),
    line(),
    ...demoHelp,
  ]
  if (hasBegun) lines.push(line(), line(styled('dim', '── the conversation so far ──')))
  return lines
}

export const demoHelp: readonly Line[] = [
  line(styled('dim', 'Type  '), ...separated(['refund order 1234', 'report', 'complaint', 'research the switch'])),
  line(
    styled('dim', '      '),
    ...separated(['return order 1235', 'the parcel of 1235 arrived', 'tell me a story', '/help']),
  ),
]

export const goodbye: readonly Line[] = [line(styled('dim', `The conversation is in the log. Go on with: ${start()}`))]

/** Nothing where the command line finds the store by itself. */
export function storeOption(storeFile: string): string {
  const file = relative(process.cwd(), storeFile)
  const isFound = file === join('.perdure', 'perdure.db') && !process.env['PERDURE_STORE']
  return isFound ? '' : ` --store ${file}`
}

function start(): string {
  return isFromSource() ? 'npm start' : 'npx perdure demo'
}

function row(name: string, value: string, what: string): Line {
  return line(styled('dim', `  ${name.padEnd(8)}`), styled('cyan', value), styled('dim', what))
}

function separated(words: readonly string[]) {
  return words.flatMap((word, index) => [...(index > 0 ? [styled('dim', ' · ')] : []), styled('bold', word)])
}
