import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { serve } from '../../src/server/index.ts'
import { childInput, dieWithParent, say } from '../faults/harness/child-channel.ts'
import { openStore, type Target } from '../faults/harness/target.ts'
import { writer } from './writer.ts'

export type ServingInput = { readonly target: Target; readonly name: string; readonly delayMs: number }

export type ServingMessage = { readonly type: 'serving'; readonly url: string }

/** A node that serves, as a process. */
const { target, name, delayMs } = childInput<ServingInput>()
dieWithParent()
const store = await openStore(target)
const runtime = createRuntime({ agents: [writer(name, delayMs)], store, logger: silentLogger })
const server = await serve(runtime, { port: 0, logger: silentLogger })
say<ServingMessage>({ type: 'serving', url: server.url })
