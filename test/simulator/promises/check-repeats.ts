import type { EventOf, LogEvent } from '../../../src/log/events.ts'
import type { TurnState } from '../../../src/log/state.ts'
import type { Effect } from '../scenarios/scenario.ts'
import { ifInterrupted } from '../scenarios/tools.ts'
import { allTurns } from './check-calls.ts'

/**
 * What must not be repeated is repeated only by force. `forced`: the keys of the messages for which people asked for that. No turn with a started call takes
 * part in a replacement that was not forced, and over all variants of a turn its tools have had one effect, and one more for each that was forced.
 */
export function checkRepeats(
  log: readonly LogEvent[],
  effects: readonly Effect[],
  forced: ReadonlySet<string>,
): string[] {
  const marks = log.filter((event) => event.type === 'superseded')
  const turns = allTurns(log)
  const isForced = ({ content }: EventOf<'superseded'>): boolean => forced.has(keyOf(log, content.by))
  const problems = marks
    .filter((mark) => !isForced(mark))
    .flatMap((mark) => started(turns, mark).map((tool) => `${tool} was started, and its turn was replaced unforced`))
  for (const [place, variants] of Map.groupBy(turns, (turn) => placeOf(turn, marks))) {
    const times = marks.filter((mark) => mark.content.fromSeq === place && isForced(mark)).length
    problems.push(...checkVariants(variants, effects, times))
  }
  return problems
}

function checkVariants(variants: readonly TurnState[], effects: readonly Effect[], times: number): string[] {
  const calls = variants.flatMap((turn) => turn.calls)
  const own = effects.filter(({ callId }) => calls.some((call) => call.callId === callId))
  return [...Map.groupBy(own, ({ tool }) => tool)].flatMap(([tool, runs]) => {
    if (isRepeatable(tool)) return []
    const again = calls.filter(({ name }) => name === tool).flatMap(({ rounds }) => rounds.filter(isRerun)).length
    const isTooOften = runs.length > 1 + times + again
    return isTooOften ? [`${tool} had ${runs.length} effects in variants of one turn, ${times} of them forced`] : []
  })
}

/** The tools of what a mark withdrew that were started and must not run twice. */
function started(turns: readonly TurnState[], { seq, content }: EventOf<'superseded'>): string[] {
  const withdrawn = turns.filter(({ firstSeq }) => firstSeq >= content.fromSeq && firstSeq < seq)
  const calls = withdrawn.flatMap((turn) => turn.calls)
  return calls.filter(({ attempts, name }) => attempts > 0 && !isRepeatable(name)).map(({ name }) => name)
}

function placeOf({ turnId, firstSeq }: TurnState, marks: readonly EventOf<'superseded'>[]): number {
  return marks.find(({ content }) => content.by === turnId)?.content.fromSeq ?? firstSeq
}

function keyOf(log: readonly LogEvent[], turnId: string): string {
  const said = log.find(({ type, content }) => type === 'user_msg' && content.turnId === turnId)
  return said?.type === 'user_msg' ? (said.content.key ?? '') : ''
}

function isRepeatable(tool: string): boolean {
  return ifInterrupted[tool] === 'rerun'
}

/** A person had an interrupted call run again. */
function isRerun({ kind, resolution }: TurnState['calls'][number]['rounds'][number]): boolean {
  return kind === 'recovery' && resolution?.value === 'rerun'
}
