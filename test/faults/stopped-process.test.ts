import { readFileSync } from 'node:fs'
import { describe, expect, inject, test } from 'vitest'
import type { Failpoint } from '../../src/base/failpoint.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createRuntime } from '../../src/runtime/create-runtime.ts'
import { until } from '../stories/until.ts'
import { spawnChild } from './harness/spawn-child.ts'
import { openStore } from './harness/target.ts'
import { withTarget } from './harness/with-target.ts'
import { leaseMs, stoppedAgents } from './stopped-process/agents.ts'
import type { StoppedInput, StoppedMessage } from './stopped-process/child.ts'

describe.each(['sqlite', 'postgres'] as const)('a process that was stopped for longer than its lease (%s)', (store) => {
  test.each<[string, Failpoint, readonly string[]]>([
    ['report', 'owner.after_commit', []],
    ['report', 'tool.before_run', []],
    ['rerun', 'tool.before_run', ['rerun']],
    ['step', 'flow.after_commit', []],
  ])('starts nothing when it goes on: %s, stopped at %s', async (what, stopAt, runsElsewhere) => {
    await withTarget({ store, postgresUrl: inject('postgresUrl') }, async (target) => {
      const { child, heard, isStopped } = stoppingChild({ target, stopAt }, what)
      await isStopped
      const ran: string[] = []
      const data = await openStore(target)
      const { agents, flows } = stoppedAgents((name) => void ran.push(name))
      const node = createRuntime({ agents, flows, store: data, logger: silentLogger, leaseMs, pollMs: 20 })
      const end = what === 'step' ? 'flow_ended' : 'turn_ended'
      await until(async () => (await data.streamEvents('c1')).at(-1)?.type === end)
      expect(ran).toEqual(runsElsewhere)

      const before = heard.length
      process.kill(child.pid, 'SIGCONT')
      // Whatever it was about to begin has begun by then.
      await until(() => heard.length > before + 20)
      expect(heard.filter(({ type }) => type === 'ran')).toEqual([])
      child.kill()
      await child.ended
      await node.close({ drainMs: 0 })
      await data.close()
    })
  })

  test('continues with what it was about to start if no other process took it meanwhile', async () => {
    await withTarget({ store, postgresUrl: inject('postgresUrl') }, async (target) => {
      const { child, heard, isStopped } = stoppingChild({ target, stopAt: 'tool.before_run' }, 'report')
      await isStopped
      await new Promise((resolve) => setTimeout(resolve, 2 * leaseMs))
      process.kill(child.pid, 'SIGCONT')
      const data = await openStore(target)
      await until(async () => (await data.streamEvents('c1')).at(-1)?.type === 'turn_ended')
      expect(heard.filter(({ type }) => type === 'ran')).toEqual([{ type: 'ran', what: 'report' }])
      const results = (await data.streamEvents('c1')).filter(({ type }) => type === 'tool_result')
      expect(results).toMatchObject([{ content: { ok: true } }])
      child.kill()
      await child.ended
      await data.close()
    })
  })
})

/** A node that begins with `what`, and stops on the way. */
function stoppingChild(input: StoppedInput, what: string) {
  const heard: StoppedMessage[] = []
  const child = spawnChild<StoppedMessage>({
    script: new URL('./stopped-process/child.ts', import.meta.url),
    input,
    onMessage: (message) => void heard.push(message),
  })
  const hears = (type: StoppedMessage['type']) => until(() => heard.some((message) => message.type === type))
  const stops = async (): Promise<void> => {
    await hears('ready')
    child.tell(what)
    await hears('stopping')
    await until(() => stateOf(child.pid) === 'T')
  }
  return { child, heard, isStopped: stops() }
}

/** One letter, as the kernel has it: `T` is stopped. */
function stateOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').match(/\) (\w)/)?.[1]
}
