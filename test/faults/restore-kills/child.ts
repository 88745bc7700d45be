import { type Failpoint, onFailpoint } from '../../../src/base/failpoint.ts'
import { childInput, dieWithParent } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'
import { approveRestored, startLife } from './life.ts'

export type ChildInput = {
  readonly target: Target
  readonly folder: string
  readonly does: 'ask' | 'restore' | 'delete'
  /** Where it kills itself; null: when it waits. */
  readonly at: Failpoint | null
}

const { target, folder, does, at } = childInput<ChildInput>()
dieWithParent()
const die = () => process.kill(process.pid, 'SIGKILL')
onFailpoint((name) => {
  if (name === at) die()
})
const life = startLife(await openStore(target), folder)
if (does === 'restore') await approveRestored(life)
else {
  await (await life.chat.send('Pay me back.')).outcome()
  if (does === 'delete') await life.chat.delete()
  die()
}
process.exit(1)
