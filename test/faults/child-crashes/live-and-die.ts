import { type Failpoint, onFailpoint } from '../../../src/base/failpoint.ts'
import { EffectsFile } from '../crash-matrix/effects-file.ts'
import { childInput, dieWithParent, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'
import { play, startFamily } from './family.ts'
import { untilAtRest } from './until-at-rest.ts'

export type LifeInput = {
  readonly target: Target
  readonly effectsFile: string
  readonly prefix: string
  /** Null: it lives to the end. */
  readonly crash: { readonly failpoint: Failpoint; readonly nth: number } | null
}

export type LifeMessage =
  | { readonly type: 'problem'; readonly problem: string }
  /** Everything is told; how often each failpoint was passed. */
  | { readonly type: 'done'; readonly passings: Readonly<Record<string, number>> }

const { target, effectsFile, prefix, crash } = childInput<LifeInput>()
const passings: Record<string, number> = {}

dieWithParent()
onFailpoint((name) => {
  const nth = (passings[name] = (passings[name] ?? 0) + 1)
  if (name === crash?.failpoint && nth === crash.nth) process.kill(process.pid, 'SIGKILL')
})
const store = await openStore(target)
const effects = new EffectsFile(effectsFile)
const problem = (text: string): void => say<LifeMessage>({ type: 'problem', problem: text })
// A short lease, so that the next process need not wait after the kill.
const runtime = startFamily({ store, leaseMs: 60, effect: (id) => effects.append({ id } as never), problem })
await play(runtime, prefix)
await untilAtRest(store, prefix)
await runtime.close({ drainMs: 0 })
await store.close()
say<LifeMessage>({ type: 'done', passings })
process.exit(0)
