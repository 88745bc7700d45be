import { halt } from '../../../src/define/create-hook.ts'
import { defineTool } from '../../../src/define/define-tool.ts'
import type { Tool } from '../../../src/define/tool.ts'
import type { Turn } from '../../../src/define/turn.ts'
import { childIdOf, childTurnIdOf } from '../../../src/log/child-call.ts'
import type { IfInterrupted } from '../../../src/log/events.ts'
import { cancel, setOutside, untilAborted } from './people.ts'
import type { Host, Scenario } from './scenario.ts'

export const input = { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] }

/** What is done about a run that was cut off, of the tools that run on the server. */
export const ifInterrupted: Readonly<Record<string, IfInterrupted>> = {
  pay: 'report',
  refund: 'report',
  wipe: 'report',
  look: 'rerun',
  slow: 'rerun',
  patient: 'rerun',
  finish: 'rerun',
  keep: 'rerun',
  book: 'ask',
  ship: 'ask',
}

/** Tools whose runs are counted outside. `idOf`: the conversation that a turn is in. */
export function scenarioTools(
  scenario: Scenario,
  host: Host,
  idOf = (_: string | null) => host.idOf(scenario),
): Tool[] {
  const happen = (tool: string, { callId, turnRef }: Turn): Promise<string> | string => {
    if (!host.isAlive()) return new Promise(() => {})
    host.effect({ id: idOf(turnRef), tool, callId: callId ?? 'none' })
    return `${tool} done`
  }
  const server = (name: string, attributes: { readonly approval?: 'required' } = {}): Tool =>
    defineTool({
      name,
      description: name,
      input,
      ifInterrupted: ifInterrupted[name]!,
      ...attributes,
      run: (_, turn) => happen(name, turn),
    })
  const slow = defineTool({
    name: 'slow',
    description: 'slow',
    input,
    ifInterrupted: ifInterrupted['slow']!,
    run: async (_, turn) => {
      await happen('slow', turn)
      await Promise.race([
        cancel(scenario, host, scenario.cancels ?? 'work until cancelled'),
        untilAborted(turn.signal),
      ])
      return 'too late'
    },
  })
  const patient = defineTool({
    name: 'patient',
    description: 'patient',
    input,
    ifInterrupted: ifInterrupted['patient']!,
    run: async (_, turn) => {
      await happen('patient', turn)
      while (!(await host.haveOthersEnded(scenario))) await host.pause()
      return 'patient done'
    },
  })
  const finish = defineTool({
    name: 'finish',
    description: 'finish',
    input,
    ifInterrupted: ifInterrupted['finish']!,
    run: async (_, turn) => halt('finished', { result: await happen('finish', turn) }),
  })
  const keep = defineTool({
    name: 'keep',
    description: 'keep',
    input,
    ifInterrupted: ifInterrupted['keep']!,
    run: async (_, turn: Turn<KeptState>) => {
      const result = await happen('keep', turn)
      const { callId } = turn
      turn.setState(({ kept }) => ({ kept: [...kept, callId!] }))
      await setOutside(scenario, host, callId!)
      return result
    },
  })
  const output = { type: 'string' }
  return [
    ...['pay', 'look', 'book', 'ship'].map((name) => server(name)),
    ...['refund', 'wipe'].map((name) => server(name, { approval: 'required' })),
    slow,
    patient,
    finish,
    keep,
    defineTool({ name: 'colour', description: 'colour', input, executor: 'human', output }),
    defineTool({ name: 'nobody', description: 'nobody', input, executor: 'human', output, expiresInMs: 40 }),
    defineTool({ name: 'screen', description: 'screen', input, executor: 'client', output, approval: 'required' }),
  ]
}

/** The ids of the calls of `keep`: those that set them with their results, and those that the application set as they ran. */
export type KeptState = { readonly kept: readonly string[]; readonly outside: readonly string[] }

/** The conversation of the child agent whose turn this is. */
export function idOfChild(turnRef: string | null): string {
  return childIdOf((turnRef ?? '').slice(childTurnIdOf('').length).split('/')[0]!)
}
