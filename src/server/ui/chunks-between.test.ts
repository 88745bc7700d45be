import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assemble, essence, type Sdk, wouldSend } from '../../../test/server/ui-assemble.ts'
import { uiFilm } from '../../../test/server/ui-film.ts'
import { openTurn } from '../../log/state.ts'
import type { View } from '../../view/view.ts'
import { chunksBetween } from './chunks-between.ts'
import type { ClientMessage } from './client-message.ts'
import { heldTurn } from './ui-stream.ts'
import type { UiChunk, UiTurn } from './ui-turn.ts'
import { uiMessageOf, uiTurnOf } from './ui-turn-of.ts'

const timeout = 60_000
const patient = { interruptAfterTimeLimit: timeout, markInterruptAsFailure: true }
const tape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 20, maxLength: 120, size: 'max' }))
const liveTape = fc.noBias(fc.array(fc.nat(5_039), { minLength: 50, maxLength: 400, size: 'max' }))
const clients: [Sdk, boolean][] = [
  ['v6', false],
  ['v7', false],
  ['v7', true],
]

const fileUrl = (id: string, blob: string) => `/conversations/${id}/files/${blob}`

/** What a client is sent that begins at a moment with what it has, and where it stops: when it is told to, or withdrawn from. */
function follow(views: readonly View[], from: number, turnId: string, isV7: boolean, held: ClientMessage | null) {
  const chunks: UiChunk[] = []
  let shown: UiTurn | null = null
  for (let at = from; at < views.length; at++) {
    const turn = uiTurnOf(views[at]!, turnId, fileUrl)
    if (turn === 'between') continue
    const known = held && chunks.length === 0 && turn ? heldTurn(held, turn) : null
    if (held && chunks.length === 0 && !known) return { chunks, at, isWithdrawn: true }
    const first = known ? { before: known, isFirst: true } : { before: shown }
    const between = chunksBetween(first.before, turn, { isV7, ...('isFirst' in first ? { isFirst: true } : {}) })
    chunks.push(...between.chunks)
    shown = between.shown
    const isWithdrawn = between.isOver && between.shown === null
    if (between.isOver) return { chunks, at, isWithdrawn }
  }
  throw new Error('the stream did not end')
}

function truthAt(view: View, turnId: string, isV7: boolean): object {
  const turn = uiTurnOf(view, turnId, fileUrl)
  if (!turn || turn === 'between') throw new Error('there is no such turn')
  return essence(JSON.parse(JSON.stringify(uiMessageOf(turn))), isV7)
}

/** A page that claims of its calls what may not be so. */
function claiming(message: ClientMessage, choose: (count: number) => number): ClientMessage {
  const parts = message.parts.map((part) => {
    if (!part.type.startsWith('tool-') || part['providerExecuted']) return part
    const approval = part['approval'] ? { approval: { ...Object(part['approval']), approved: choose(2) === 1 } } : {}
    if (part['state'] === 'approval-requested')
      return choose(3) === 0 ? part : { ...part, state: 'approval-responded', ...approval }
    if (part['state'] === 'input-available' && choose(2) === 1)
      return { ...part, state: 'output-available', output: 'I say so' }
    return part
  })
  return { ...message, parts }
}

describe.each(clients)('a client of %s (its own chunks: %s)', { timeout }, (sdk, isV7) => {
  test('who joins at any moment, resumes when told to and goes on after each wait shows the log', async () => {
    const counts = { waited: 0, withdrawn: 0, ended: 0 }
    await fc.assert(
      fc.asyncProperty(tape, liveTape, fc.infiniteStream(fc.nat(5_039)), async (numbers, more, choices) => {
        const views = uiFilm(numbers, more)
        const choose = (count: number) => choices.next().value % count
        const turnIds = new Set(views.flatMap(({ log }) => openTurn(log)?.turnId ?? []))
        for (const turnId of turnIds) await showTurn(views, turnId, choose, counts)
      }),
      { ...patient, seed: 3, numRuns: 250 },
    )
    expect(counts.ended).toBeGreaterThan(500)
    expect(counts.waited).toBeGreaterThan(50)
    if (!isV7) expect(counts.withdrawn).toBeGreaterThan(10)
  })

  async function showTurn(
    views: readonly View[],
    turnId: string,
    choose: (count: number) => number,
    counts: { waited: number; withdrawn: number; ended: number },
  ): Promise<void> {
    const open = views.flatMap((view, at) => (openTurn(view.log)?.turnId === turnId ? [at] : []))
    let at = open[choose(2) * choose(open.length)]!
    let held: ClientMessage | null = null
    for (;;) {
      const session = follow(views, at, turnId, isV7, held)
      at = session.at
      if (session.isWithdrawn) {
        counts.withdrawn += 1
        // It resumes, and is sent the message anew.
        held = null
        continue
      }
      const message = await assemble(sdk, session.chunks, held)
      expect(essence(message, isV7)).toEqual(truthAt(views[at]!, turnId, isV7))
      // A page that sends by itself would do so for ever.
      expect(wouldSend(sdk, message)).toBe(false)
      if ((message as { metadata?: { status?: string } }).metadata?.status !== 'waiting') break
      counts.waited += 1
      held = claiming(message, choose)
      const next = views.findIndex((view, index) => index > at && view.phase !== 'waiting')
      if (next < 0) throw new Error('it waits for ever')
      at = Math.min(next + choose(2), views.length - 1)
    }
    counts.ended += 1
  }
})
