import { enableCompileCache } from 'node:module'
import { childInput } from '../harness/child-channel.ts'
import type { ChildInput } from './plan.ts'

// Hundreds of these are started, and compiling is most of what starting takes.
enableCompileCache(childInput<ChildInput>().cacheFolder)
const { liveAndDie } = await import('./live-and-die.ts')
await liveAndDie()
