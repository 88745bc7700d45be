import fc from 'fast-check'
import type { Executor, SuspensionKind } from '../../../src/log/events.ts'
import type { FinalStatus, ToolCallWrite } from '../../../src/store/records.ts'
import type { World } from '../world.ts'
import { farMs } from './durations.ts'
import { rowId } from './names.ts'
import { text } from './texts.ts'
import { shortObject, value } from './values.ts'

export const finalStatus = fc.constantFrom<FinalStatus>('resolved', 'errored', 'denied', 'expired', 'cancelled')

/** A row that no event tells of. */
export const rowWrite: fc.Arbitrary<ToolCallWrite> = fc
  .record(
    {
      id: rowId,
      name: text,
      executor: fc.constantFrom<Executor>('server', 'human', 'client', 'provider', 'agent'),
      status: fc.oneof(
        { weight: 4, arbitrary: fc.constant('pending' as const) },
        { weight: 1, arbitrary: finalStatus },
      ),
      args: value,
      result: value,
      round: fc.integer({ min: 1, max: 3 }),
      kind: fc.constantFrom<SuspensionKind>('approval', 'elicitation', 'client_exec', 'sub_agent', 'recovery'),
      prompt: value,
      expiresInMs: fc.option(farMs),
      meta: fc.option(shortObject),
    },
    { requiredKeys: ['id'] },
  )
  .map((write) => write as ToolCallWrite)

export function countCall(world: World, { name, args, result, prompt, meta }: ToolCallWrite): void {
  for (const part of [name, args, result, prompt, meta]) if (part !== undefined) world.stored(part)
}
