import { childIdOf } from '../../log/child-call.ts'
import type { LeftOut, ViewCall } from '../../view/view.ts'
import type { Colours } from '../terminal/colours.ts'
import { type SafeText, safe } from '../terminal/safe-text.ts'
import { excerpt } from './excerpt.ts'
import { indented } from './indented.ts'

/** A tool call: its arguments, how it stands, and what came of it. */
export function callLines(call: ViewCall, { colours, isFull }: { colours: Colours; isFull: boolean }): SafeText[] {
  const args = call.edited ? call.edited.after : call.args
  const heading = safe`${colours.bold(call.name)} ${excerpt(args, isFull)} ${statusOf(call, colours)}`
  const edited = call.edited
    ? [colours.dim(`a person changed the arguments; the model's: ${excerpt(call.edited.before, isFull)}`)]
    : []
  const child = call.executor === 'agent' ? [colours.dim(`child conversation ${childIdOf(call.callId)}`)] : []
  const end = call.end ? [call.end.ok ? excerpt(call.end.result, isFull) : colours.red(call.end.error)] : []
  const leftOut = call.leftOut ? [colours.dim(leftOutText(call.leftOut))] : []
  return [...indented(heading), ...[...edited, ...child, ...end, ...leftOut].flatMap((line) => indented(line, 4))]
}

export function leftOutText({ bytes, seqs }: LeftOut): string {
  return `about ${bytes} bytes are left out here; events ${seqs.join(', ')} have them`
}

function statusOf({ phase, end, executor }: ViewCall, colours: Colours): SafeText {
  if (end) {
    if (end.ok) return colours.green('done')
    return end.outcome
      ? colours.yellow(end.outcome === 'ran' ? 'ran, result lost' : 'outcome unknown')
      : colours.red('failed')
  }
  if (phase === 'pending') return colours.yellow(executor === 'agent' ? 'at work' : 'waits for an answer')
  return colours.dim(phase === 'running' ? 'running' : 'not started')
}
