import { safely } from './terminal/safe-text.ts'

export type Progress = {
  advance(by?: number): void
  /** Must be called, also when the work fails: it leaves the last state on a line of its own. */
  end(): void
}

export type ProgressOptions = {
  readonly label: string
  /** How much there is to do; null when nobody knows. */
  readonly total: number | null
  readonly stderr?: NodeJS.WriteStream
}

const redrawMs = 100
const plainMs = 5_000
const barLength = 24

/** Tells how far long work is, on stderr: a bar on a terminal, else a line every few seconds, and nothing when it was quick. */
export function startProgress({ label, total, stderr = process.stderr }: ProgressOptions): Progress {
  const isTerminal = stderr.isTTY === true
  const startedAt = performance.now()
  let done = 0
  let drawnAt = isTerminal ? Number.NEGATIVE_INFINITY : startedAt
  let isDrawn = false
  const draw = (now: number): void => {
    drawnAt = now
    isDrawn = true
    const text = `${safely(label)} ${told(done, total, (now - startedAt) / 1000)}`
    stderr.write(isTerminal ? `\r\u001b[K${text.slice(0, Math.max(1, (stderr.columns || 80) - 1))}` : `${text}\n`)
  }
  return {
    advance(by = 1) {
      done += by
      const now = performance.now()
      if (now - drawnAt >= (isTerminal ? redrawMs : plainMs)) draw(now)
    },
    end() {
      if (isDrawn) draw(performance.now())
      if (isDrawn && isTerminal) stderr.write('\n')
    },
  }
}

function told(done: number, total: number | null, seconds: number): string {
  const rate = seconds > 0 ? `${Math.round(done / seconds)}/s` : ''
  if (total === null) return `${done} ${rate}`
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.round(share * barLength)
  return `[${'#'.repeat(full)}${'.'.repeat(barLength - full)}] ${Math.floor(share * 100)}% ${done}/${total} ${rate}`
}
