import { CommandLineError } from '../../base/errors/cli-errors.ts'
import type { NodeState } from '../../store/nodes.ts'
import type { Pause, PauseTarget } from '../../store/steering.ts'
import type { WorkState } from '../../store/work-rows.ts'
import { command, countOf, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import { ago, type SafeText, table } from '../terminal/text.ts'
import type { ShownWork } from '../upkeep/fleet-verbs.ts'
import { wholeStoreArgs, withUpkeep } from '../upkeep/with-upkeep.ts'

const byArgs = {
  who: { type: 'string', valueHint: 'name', description: "Who asks, for the record; default: 'operator'" },
  reason: { type: 'string', valueHint: 'text', description: 'Why, for the record' },
} as const

export const nodes = command({
  args: wholeStoreArgs,
  about: 'Lists the processes that work on a store or serve it, and how many conversations each works on now.',
  examples: [['nodes', 'who is there?']],
  run: (context) =>
    withUpkeep(context, async ({ fleet }) => {
      const found = await fleet.nodes()
      context.output.result({ nodes: found }, () => nodeLines(found, context.output))
      return exitCodes.ok
    }),
})

export const work = command({
  args: {
    state: { type: 'string', valueHint: 'state', description: 'due, held or quarantined; default: due' },
    agent: { type: 'string', valueHint: 'name', description: 'Only of this agent; a flow is flow:<name>' },
    limit: { type: 'string', valueHint: 'n', description: 'How many at most; default: 50' },
    ...wholeStoreArgs,
  },
  about: 'Lists what is due in any tenant, the oldest first, or what processes hold, or what is quarantined.',
  examples: [
    ['work', 'what waits for a process?'],
    ['work --state quarantined', 'what does no process take?'],
  ],
  run: (context) =>
    withUpkeep(context, async ({ fleet }) => {
      const { args, output } = context
      const state = (args.state ?? 'due') as WorkState
      if (!['due', 'held', 'quarantined'].includes(state))
        throw new CommandLineError(`--state is '${state}', and must be due, held or quarantined`, 'work')
      const page = { state, limit: countOf('limit', args.limit) ?? 50, ...(args.agent ? { agent: args.agent } : {}) }
      const found = await fleet.work(page)
      output.result({ work: found }, () => workLines(found, state, output))
      return exitCodes.ok
    }),
})

const targetArgs = {
  agent: {
    type: 'string',
    valueHint: 'name',
    description: 'All of this agent, in every tenant; a flow is flow:<name>',
  },
  conversation: { type: 'string', valueHint: 'id', description: 'One conversation or session' },
  tenant: { type: 'string', description: "All of this tenant; with --conversation, its tenant (default: 'default')" },
} as const

export const pause = command({
  args: { ...targetArgs, ...byArgs, ...wholeStoreArgs },
  about:
    'Has no process work on an agent, a tenant or a conversation until it is resumed. Without one, lists what is paused.',
  examples: [
    ['pause --agent support --reason outage', 'in every tenant'],
    ['pause', 'what is paused?'],
  ],
  run: (context) =>
    withUpkeep(context, async ({ fleet }) => {
      const { args, output } = context
      const target = targetIn(args, 'pause')
      if (target) {
        const paused = await fleet.pause(target, byOf(args))
        output.result(paused, () => [`The ${textOf(paused.target)} is paused.`])
        return exitCodes.ok
      }
      const pauses = await fleet.pauses()
      output.result({ pauses }, () => pauseLines(pauses, output))
      return exitCodes.ok
    }),
})

export const resume = command({
  args: { ...targetArgs, ...byArgs, ...wholeStoreArgs },
  about: 'Ends a pause: what waits is due at once.',
  examples: [['resume --agent support', 'the provider is back']],
  run: (context) =>
    withUpkeep(context, async ({ fleet }) => {
      const { args, output } = context
      const target = targetIn(args, 'resume')
      if (!target) throw new CommandLineError('Name what to resume: --agent, --tenant or --conversation', 'resume')
      const resumed = await fleet.resume(target, byOf(args))
      output.result({ resumed }, () => [`The ${textOf(target)} ${resumed ? 'is resumed' : 'was not paused'}.`])
      return resumed ? exitCodes.ok : exitCodes.failed
    }),
})

const nodeArgs = {
  node: { type: 'positional', required: true, description: 'A node, as perdure nodes names it' },
} as const

export const drain = command({
  args: {
    ...nodeArgs,
    within: {
      type: 'string',
      valueHint: 'ms',
      description: 'Hand over what it still holds after this; default: 10000',
    },
    ...byArgs,
    ...wholeStoreArgs,
  },
  about: 'Makes a node take no more work and hand over the work it has. It continues to serve requests.',
  examples: [['drain runtime-0198f0c2 --within 60000', 'before its machine is taken away']],
  run: (context) =>
    withUpkeep(context, async ({ fleet }) => {
      const { args, output } = context
      const draining = await fleet.drain(args.node, {
        ...byOf(args),
        drainMs: countOf('within', args.within) ?? 10_000,
      })
      output.result({ draining }, () => [
        draining ? `'${args.node}' drains.` : `There is no node '${args.node}'. List them with: perdure nodes`,
      ])
      return draining ? exitCodes.ok : exitCodes.failed
    }),
})

export const undrain = command({
  args: { ...nodeArgs, ...byArgs, ...wholeStoreArgs },
  about: 'Lets a node that drains work again.',
  examples: [['undrain runtime-0198f0c2', 'it stays']],
  run: (context) =>
    withUpkeep(context, async ({ fleet }) => {
      const { args, output } = context
      const undrained = await fleet.undrain(args.node, byOf(args))
      output.result({ undrained }, () => [undrained ? `'${args.node}' works again.` : `'${args.node}' does not drain.`])
      return undrained ? exitCodes.ok : exitCodes.failed
    }),
})

type Shown = Pick<Output, 'colours' | 'width'>
type Line = string | SafeText

function nodeLines(found: readonly NodeState[], { colours, width }: Shown): Line[] {
  if (found.length === 0) return ['There are no nodes.']
  const rows = found.map(({ holder, version, works, held, capacity, seenAt, isSilent, drain: drained, agents }) => [
    ...[holder, version ?? 'unknown', drained ? 'draining' : isSilent ? 'silent' : works ? 'works' : 'serves'],
    ...[
      capacity === null ? String(held) : `${held}/${capacity}`,
      seenAt === null ? '' : ago(seenAt),
      agents.join(', '),
    ],
  ])
  return table(['NODE', 'VERSION', 'STATE', 'HELD', 'SEEN', 'AGENTS'].map(colours.bold), rows, width)
}

function workLines(found: readonly ShownWork[], asked: WorkState, { colours, width }: Shown): Line[] {
  if (found.length === 0) return [`Nothing is ${asked}.`]
  const rows = found.map(({ tenant, id, agent, state, at, lease, lapses, pause: paused }) => [
    ...[`${tenant}/${id}`, agent ?? '', paused ? `${state}, paused` : state, ago(at)],
    ...[lease?.holder ?? '', lapses === 0 ? '' : String(lapses)],
  ])
  return table(['CONVERSATION', 'AGENT', 'STATE', 'SINCE', 'NODE', 'LAPSES'].map(colours.bold), rows, width)
}

function pauseLines(found: readonly Pause[], { colours, width }: Shown): Line[] {
  if (found.length === 0) return ['Nothing is paused.']
  const rows = found.map(({ target, who, at, reason }) => [textOf(target), who, ago(at), reason ?? ''])
  return table(['PAUSED', 'BY', 'SINCE', 'REASON'].map(colours.bold), rows, width)
}

function textOf(target: PauseTarget): string {
  if ('agent' in target) return `agent '${target.agent}'`
  if ('conversation' in target) return `conversation '${target.tenant ?? 'default'}/${target.conversation}'`
  return `tenant '${target.tenant}'`
}

type Given = { readonly [Name in 'agent' | 'conversation' | 'tenant' | 'who' | 'reason']?: string | undefined }

function targetIn({ agent, conversation, tenant }: Given, name: string): PauseTarget | null {
  if (agent !== undefined && (conversation !== undefined || tenant !== undefined))
    throw new CommandLineError('--agent is for every tenant: leave out --tenant and --conversation', name)
  if (agent !== undefined) return { agent }
  if (conversation !== undefined) return { conversation, ...(tenant === undefined ? {} : { tenant }) }
  return tenant === undefined ? null : { tenant }
}

function byOf({ who = 'operator', reason }: Given): { readonly who: string; readonly reason?: string } {
  return { who, ...(reason === undefined ? {} : { reason }) }
}
