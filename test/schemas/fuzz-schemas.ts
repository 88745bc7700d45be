import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { FuzzWork } from './fuzz-worker.ts'
import { pairOf } from './pair.ts'
import { plainVerdictBySpecification, type Verdict, verdicts } from './verdict.ts'

export type FuzzReport = {
  readonly pairs: number
  readonly seed: number
  /** Of ours. */
  readonly fits: number
  readonly doesNotFit: number
  readonly tooComplex: number
  readonly malformed: number
  /** Pairs on which both gave a verdict. */
  readonly compared: number
  /** Of those: the plain one differs, and does not once regular expressions begin where the language says. */
  readonly insideCharacters: number
  readonly plainThrew: number
  readonly plainUnfinished: number
  readonly hostile: number
  readonly slowest: { readonly number: number; readonly kind: string; readonly cpuMs: number }
  /** What must not be, with the number of the pair. */
  readonly failures: readonly string[]
}

export type FuzzOptions = { readonly pairs: number; readonly seed: number; readonly maxCpuMs: number }

/** All that one pair may take, with what the program itself has. */
const heapMb = 64
const plainMs = 20_000

/**
 * Checks pairs of a schema and a value with our validator, in a thread with little memory, and those that are not hostile with the plain one, in a thread
 * that is ended when it does not come to an end.
 */
export async function fuzzSchemas({ pairs, seed, maxCpuMs }: FuzzOptions): Promise<FuzzReport> {
  const failures: string[] = []
  const [ours, plain] = await Promise.all([
    work('ours', pairs, seed, (number, why) => {
      failures.push(`pair ${number} (${pairOf(seed, number).kind}): ${why}`)
    }),
    work('plain', pairs, seed, () => {}),
  ])
  const count = (told: Told, verdict: Verdict) => told.verdicts.filter((one) => one === verdict).length
  let compared = 0
  let insideCharacters = 0
  let hostile = 0
  for (let number = 0; number < pairs; number++) {
    const pair = pairOf(seed, number)
    if (pair.isHostile) hostile += 1
    const [mine, theirs] = [ours.verdicts[number] as Verdict, plain.verdicts[number] as Verdict]
    if (mine === verdicts.threw) failures.push(`pair ${number} (${pair.kind}): threw something of its own`)
    if (ours.micros[number]! > maxCpuMs * 1000) {
      failures.push(`pair ${number} (${pair.kind}): took ${ours.micros[number]! / 1000} ms of the processor`)
    }
    if (!isVerdict(mine) || !isVerdict(theirs)) continue
    compared += 1
    if (mine === theirs) continue
    if (mine === plainVerdictBySpecification(pair)) insideCharacters += 1
    else failures.push(`pair ${number} (${pair.kind}): ${mine} here, ${theirs} by the plain validator`)
  }
  const slowest = ours.micros.indexOf(Math.max(...ours.micros))
  return {
    pairs,
    seed,
    fits: count(ours, verdicts.fits),
    doesNotFit: count(ours, verdicts.doesNotFit),
    tooComplex: count(ours, verdicts.tooComplex),
    malformed: count(ours, verdicts.malformed),
    compared,
    insideCharacters,
    plainThrew: count(plain, verdicts.threw),
    plainUnfinished: plain.unfinished,
    hostile,
    slowest: { number: slowest, kind: pairOf(seed, slowest).kind, cpuMs: ours.micros[slowest]! / 1000 },
    failures,
  }
}

function isVerdict(verdict: Verdict): boolean {
  return verdict === verdicts.fits || verdict === verdicts.doesNotFit
}

type Told = { readonly verdicts: Uint8Array; readonly micros: Int32Array; readonly unfinished: number }

/** Goes on after a pair that a thread died of, or was ended for. */
async function work(
  who: FuzzWork['who'],
  pairs: number,
  seed: number,
  onFailure: (number: number, why: string) => void,
): Promise<Told> {
  const told = {
    verdicts: new Uint8Array(new SharedArrayBuffer(pairs)),
    micros: new Int32Array(new SharedArrayBuffer(4 * pairs)),
  }
  let unfinished = 0
  for (let first = 0; first < pairs; ) {
    const current = new Int32Array(new SharedArrayBuffer(4))
    const workerData: FuzzWork = { who, seed, first, current, ...told }
    const worker = new Worker(new URL('./fuzz-worker.ts', import.meta.url), {
      workerData,
      ...(who === 'ours' ? { resourceLimits: { maxOldGenerationSizeMb: heapMb } } : {}),
    })
    const why = await ended(worker, current, plainMs)
    const reached = Atomics.load(current, 0)
    if (why !== null) {
      unfinished += 1
      onFailure(reached, why)
    }
    first = why === null ? pairs : reached + 1
  }
  return { ...told, unfinished }
}

/** Null: it came to its end. */
async function ended(worker: Worker, current: Int32Array, limitMs: number): Promise<string | null> {
  let why: string | null | undefined
  worker.once('error', (error) => {
    why = error.message
  })
  worker.once('exit', () => {
    why ??= null
  })
  let last = -1
  let since = performance.now()
  while (why === undefined) {
    await sleep(20)
    const now = Atomics.load(current, 0)
    if (now !== last) since = performance.now()
    last = now
    if (performance.now() - since > limitMs) {
      why = `did not end within ${limitMs} ms`
      await worker.terminate()
    }
  }
  return why
}
