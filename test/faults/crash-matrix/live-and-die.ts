import { failpoints, onFailpoint } from '../../../src/base/failpoint.ts'
import { childInput, dieWithParent, onParentLine, say } from '../harness/child-channel.ts'
import { openStore } from '../harness/target.ts'
import { EffectsFile } from './effects-file.ts'
import { startLife } from './life.ts'
import type { Begin, ChildInput, ChildMessage } from './plan.ts'
import { untilAtRest } from './until-at-rest.ts'

/** Long, so that a busy machine takes no conversation from a child that lives. `lapseLeases` ends them once it is dead. */
const leaseMs = 30_000

/** The child of the matrix: tells all scenarios, and is killed by itself at the failpoint it was told. */
export async function liveAndDie(): Promise<void> {
  const { target, effectsFile } = childInput<ChildInput>()
  dieWithParent()
  await (target.store === 'sqlite'
    ? import('../../../src/store/sqlite/index.ts')
    : import('../../../src/store/postgres/index.ts'))
  const begun = new Promise<Begin>((resolve) => onParentLine((line) => resolve(JSON.parse(line) as Begin)))
  say<ChildMessage>({ type: 'ready' })
  const { prefix, crash } = await begun
  const passings: Record<string, number> = Object.fromEntries(failpoints.map((name) => [name, 0]))
  onFailpoint((name) => {
    const nth = (passings[name] = passings[name]! + 1)
    if (name === crash?.failpoint && nth === crash.nth) process.kill(process.pid, 'SIGKILL')
  })
  const store = await openStore(target)
  const effects = new EffectsFile(effectsFile)
  const life = startLife({
    store,
    prefix,
    leaseMs,
    effect: (effect) => effects.append(effect),
    tell: (told) => say<ChildMessage>({ type: 'told', told }),
    problem: (problem) => say<ChildMessage>({ type: 'problem', problem }),
  })
  await life.play()
  await untilAtRest(store, prefix)
  await life.close()
  await store.close()
  say<ChildMessage>({ type: 'done', passings })
  process.exit(0)
}
