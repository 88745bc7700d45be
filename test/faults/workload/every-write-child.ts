import { childInput, dieWithParent, say } from '../harness/child-channel.ts'
import { openStore, type Target } from '../harness/target.ts'
import { everyWrite } from './every-write.ts'

/** Calls every method that writes, one after the other, and acknowledges each. */
const { target, prefix } = childInput<{ target: Target; prefix: string }>()
dieWithParent()
const store = await openStore(target)
for (const { commit, run } of everyWrite(store, prefix)) {
  await run()
  say({ type: 'answer', commit })
}
await store.close()
process.exit(0)
