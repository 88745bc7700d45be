import { channelFd } from '../harness/child-channel.ts'
import { readStrace, type Syscall } from './read-strace.ts'

export type SyncOrder = {
  readonly acknowledged: number
  /** Of the write-ahead log. */
  readonly syncs: number
  /** Of any file. */
  readonly failedSyncs: number
  readonly violations: readonly string[]
}

/**
 * Replays a trace against a model of the disk: a written piece of the write-ahead log is on it when a sync that began afterwards has
 * succeeded, and is lost for good when that sync failed (the kernel drops such pages, and the next sync says nothing). When a commit is
 * acknowledged, everything in the log up to its own pieces must be on the disk: recovery stops at the first hole.
 */
export function checkSyncOrder(lines: Iterable<string>): SyncOrder {
  const log = new LogOnDisk()
  const violations: string[] = []
  const acknowledged = new Set<string>()
  let syncs = 0
  let failedSyncs = 0
  for (const { type, call } of readStrace(lines)) {
    if (type === 'entered') {
      const name = acknowledgedCommit(call)
      if (name !== null && !acknowledged.has(name)) {
        acknowledged.add(name)
        const problem = log.problemWith(name)
        if (problem) violations.push(`${name} ${problem}`)
      }
      if (isSync(call) && isLog(call.path)) log.syncBegins()
      continue
    }
    if (isSync(call) && call.result !== 0) failedSyncs += 1
    if (!isLog(call.path)) continue
    if (isSync(call)) {
      syncs += 1
      log.syncEnds(call.result === 0)
    } else if (call.result >= 0) apply(log, call)
  }
  return { acknowledged: acknowledged.size, syncs, failedSyncs, violations }
}

type Piece = { state: 'written' | 'syncing' | 'on disk' | 'lost' }

/** The write-ahead log as the disk has it. Pieces are known by their offset. */
class LogOnDisk {
  #pieces = new Map<number, Piece>()
  /** The last offset each commit was written to before the first sync after it. */
  #endOf = new Map<string, { offset: number; isClosed: boolean; generation: number }>()
  #generation = 0

  write(offset: number, content: string): void {
    this.#pieces.set(offset, { state: 'written' })
    for (const [name] of content.matchAll(commitName)) {
      const known = this.#endOf.get(name)
      if (!known?.isClosed) this.#endOf.set(name, { offset, isClosed: false, generation: this.#generation })
    }
  }

  /** The log begins anew: what it held is in the database file. */
  reset(): void {
    this.#pieces.clear()
    this.#generation += 1
  }

  syncBegins(): void {
    for (const piece of this.#pieces.values()) if (piece.state === 'written') piece.state = 'syncing'
    for (const end of this.#endOf.values()) end.isClosed = true
  }

  syncEnds(hasSucceeded: boolean): void {
    const state = hasSucceeded ? 'on disk' : 'lost'
    for (const piece of this.#pieces.values()) if (piece.state === 'syncing') piece.state = state
  }

  problemWith(name: string): string | null {
    const end = this.#endOf.get(name)
    if (!end) return 'was acknowledged and never written'
    if (end.generation < this.#generation) return null
    for (const [offset, { state }] of this.#pieces) {
      if (offset > end.offset || state === 'on disk') continue
      return state === 'lost'
        ? `was acknowledged behind a piece of the log (at ${offset}) whose sync had failed`
        : `was acknowledged before its sync (at ${offset})`
    }
    return null
  }
}

const commitName = /@[\w.-]+@/g

function acknowledgedCommit({ name, args }: Omit<Syscall, 'result'>): string | null {
  if (name !== 'write' || !args.startsWith(`${channelFd}<`)) return null
  return /\{\\"type\\":\\"answer\\",\\"commit\\":\\"(@[\w.-]+@)\\"(?!.*\\"ok\\":false)/.exec(args)?.[1] ?? null
}

function isSync({ name }: { readonly name: string }): boolean {
  return name === 'fsync' || name === 'fdatasync'
}

function isLog(path: string): boolean {
  return path.endsWith('-wal')
}

function apply(log: LogOnDisk, { name, args }: Syscall): void {
  if (name === 'unlink' || name === 'ftruncate') log.reset()
  if (name !== 'pwrite64') return
  const offset = Number(/, (\d+)$/.exec(args)?.[1])
  if (offset === 0) log.reset()
  log.write(offset, args)
}
