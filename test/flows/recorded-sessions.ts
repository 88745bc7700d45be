import { silentLogger } from '../../src/base/logger.ts'
import { defineFlow, type Flow } from '../../src/define/define-flow.ts'
import type { LogEvent } from '../../src/log/events.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { type SeededRandom, seededRandom } from '../faults/harness/seeded-random.ts'
import { type Program, randomProgram, runProgram } from './random-program.ts'

export type RecordedSession = { readonly program: Program; readonly log: readonly LogEvent[] }

export function flowOf(program: Program): Flow {
  return defineFlow({ name: 'made-up', version: 1, run: (flow) => runProgram(flow, program) })
}

/** Made-up flows, run to their end by a real runtime, with whatever waits answered in any order. */
export async function recordedSessions(seed: number, count: number): Promise<RecordedSession[]> {
  const sessions: RecordedSession[] = []
  for (let n = 0; n < count; n++) sessions.push(await recordOne(seededRandom(seed * 1_000 + n)))
  return sessions
}

async function recordOne(random: SeededRandom): Promise<RecordedSession> {
  const program: Program = { type: 'sequence', parts: Array.from({ length: 3 }, () => randomProgram(random)) }
  const flow = flowOf(program)
  const store = memoryStore({ logger: silentLogger })
  const runtime = createRuntime({ agents: [], flows: [flow], store, logger: silentLogger })
  try {
    const session = runtime.flow(flow, 's1')
    for (let standing = await session.start(null); standing.status === 'waiting'; ) {
      const { seq } = random.pick(await session.suspensions())
      standing = await session.resume(random.int(0, 9), { seq })
    }
    return { program, log: await session.events() }
  } finally {
    await runtime.close()
    await store.close()
  }
}
