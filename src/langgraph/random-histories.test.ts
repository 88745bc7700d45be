import { type CheckpointTuple, emptyCheckpoint, MemorySaver, uuid6 } from '@langchain/langgraph-checkpoint'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from '../store/memory/memory-store.ts'
import { PerdureSaver } from './perdure-saver.ts'

/** What a namespace or a value may be. LangGraph's own saver refuses names such as `__proto__`. */
const odd = fc.constantFrom('', 'a', 'a/b', 'a:b|c', '\u0000x', 'ä😀', '\ud800', 'x'.repeat(10_000), '"', '%00')
const value = fc.oneof(
  odd,
  fc.constant(null),
  fc.integer(),
  fc.array(odd, { maxLength: 3 }),
  fc.constant('y'.repeat(700)),
)
const place = fc.nat(3)
const channels = ['a', 'messages', 'x y', 'constructor', 'ä😀']

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      /** Continues this checkpoint, or begins in a namespace of a thread. */
      from: fc.option(place),
      ns: odd,
      thread: fc.constantFrom('t1', 't2'),
      changed: fc.subarray(channels, { minLength: 1 }),
      value,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      from: place,
      task: fc.constantFrom('one', '\u0000x'),
      channel: fc.constantFrom('a', '__error__', '__interrupt__', 'b'),
      value,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('list' as const), from: place, limit: fc.option(fc.nat(4)) }) },
)

test('random histories of threads read as they do from the memory saver of LangGraph', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const store = memoryStore()
      const savers = [new PerdureSaver({ store }), new PerdureSaver({ store })]
      const theirs = new MemorySaver()
      type Put = {
        readonly config: Parameters<MemorySaver['put']>[0]
        readonly values: Values
        readonly versions: Versions
      }
      const puts: Put[] = []
      for (const [n, one] of steps.entries()) {
        const ours = savers[n % 2]!
        const from = one.from === null ? undefined : puts[one.from % Math.max(1, puts.length)]
        if (one.do === 'put') {
          const begun = { configurable: { thread_id: one.thread, checkpoint_ns: one.ns } }
          const { config, values, versions }: Put = from ?? { config: begun, values: {}, versions: {} }
          const changed = Object.fromEntries(one.changed.map((name) => [name, (versions[name] ?? 0) + 1]))
          const next = Object.fromEntries(one.changed.map((name) => [name, grown(name, values[name], one.value)]))
          const put = { values: { ...values, ...next }, versions: { ...versions, ...changed } }
          const about = { channel_values: put.values, channel_versions: put.versions }
          const checkpoint = { ...emptyCheckpoint(), id: uuid6(n), ...about }
          const metadata = { source: 'loop', step: n, parents: {} } as const
          await theirs.put(config, structuredClone(checkpoint), metadata)
          puts.push({ config: await ours.put(config, checkpoint, metadata, changed), ...put })
        } else if (!from) continue
        else if (one.do === 'write') {
          for (const saver of [ours, theirs]) await saver.putWrites(from.config, [[one.channel, one.value]], one.task)
        } else {
          expect(shown(await ours.getTuple(from.config))).toEqual(shown(await theirs.getTuple(from.config)))
          const { thread_id, checkpoint_ns } = from.config.configurable!
          const options = one.limit === null ? {} : { limit: one.limit + 1 }
          const listed = { configurable: { thread_id, checkpoint_ns } }
          const [found, expected] = [await all(ours.list(listed, options)), await all(theirs.list(listed, options))]
          expect(found.map(shown)).toEqual(expected.map(shown))
        }
      }
    }),
    { numRuns: 100 },
  )
}, 60_000)

type Values = Readonly<Record<string, unknown>>
type Versions = Readonly<Record<string, number>>

/** A list of messages grows; any other channel is replaced. */
function grown(name: string, before: unknown, added: unknown): unknown {
  return name === 'messages' ? [...(Array.isArray(before) ? before : []), added] : added
}

async function all(tuples: AsyncIterable<CheckpointTuple>): Promise<CheckpointTuple[]> {
  const found: CheckpointTuple[] = []
  for await (const tuple of tuples) found.push(tuple)
  return found
}

/** Writes of several tasks have no order among them. */
function shown(tuple: CheckpointTuple | undefined): unknown {
  if (!tuple) return null
  const { checkpoint, metadata, config, parentConfig, pendingWrites = [] } = tuple
  return {
    ...{ id: checkpoint.id, values: checkpoint.channel_values, versions: checkpoint.channel_versions, metadata },
    ...{ ns: config.configurable?.['checkpoint_ns'], parent: parentConfig?.configurable?.['checkpoint_id'] ?? null },
    writes: pendingWrites.map((write) => JSON.stringify(write)).toSorted(),
  }
}
