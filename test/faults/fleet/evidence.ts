import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Facts } from './facts.ts'

/** What happened when, by the machine's clock. */
export class Timeline {
  readonly #lines: string[] = []

  note(text: string): void {
    this.#lines.push(`${new Date().toISOString().slice(11, 23)} ${text}`)
  }

  lines(): readonly string[] {
    return this.#lines
  }
}

/** Keeps everything a violation can be traced with, since a run does not come again. Returns the path. */
export function keepEvidence(seed: number, timeline: Timeline, { history, kept, ...rest }: Facts): string {
  const path = join(tmpdir(), `perdure-fleet-${seed}-${Date.now()}.json`)
  const logs = Object.fromEntries([...kept].map(([id, { record, log, shown }]) => [id, { record, log, shown }]))
  writeFileSync(path, JSON.stringify({ timeline: timeline.lines(), history, logs, ...rest }, null, 1))
  return path
}
