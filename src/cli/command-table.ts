import type { Command } from './command.ts'

export type CommandEntry = {
  /** One word, or two for a command of a group. */
  readonly name: string
  readonly summary: string
  /** Loads the command's code when it runs, so that help is quick. */
  load(): Promise<unknown>
}

/** Every command, in the order of `perdure --help`. */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'demo',
    summary: 'Try it: talk to an agent, kill it and start it again',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  {
    name: 'init',
    summary: 'Create a project with a working agent',
    load: async () => (await import('./commands/init.ts')).init,
  },
  {
    name: 'chat',
    summary: 'Talk to an agent and answer its questions',
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  {
    name: 'serve',
    summary: 'Serve the agents and flows of a config over HTTP',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  {
    name: 'studio',
    summary: 'Print the address of the studio, or read an export in it',
    load: async () => (await import('./commands/studio.ts')).studio,
  },
  {
    name: 'list',
    summary: 'List conversations, the newest first',
    load: async () => (await import('./commands/list.ts')).list,
  },
  {
    name: 'show',
    summary: 'Print a conversation',
    load: async () => (await import('./commands/show.ts')).show,
  },
  {
    name: 'tail',
    summary: 'Follow a conversation as it happens',
    load: async () => (await import('./commands/show.ts')).tail,
  },
  {
    name: 'inbox',
    summary: 'List the calls that wait for an answer',
    load: async () => (await import('./commands/list.ts')).inbox,
  },
  {
    name: 'approve',
    summary: 'Let a call run that waits for approval',
    load: async () => (await import('./commands/answer.ts')).approve,
  },
  {
    name: 'deny',
    summary: 'Refuse a call that waits for approval',
    load: async () => (await import('./commands/answer.ts')).deny,
  },
  {
    name: 'answer',
    summary: 'Answer a question, a client tool or an interrupted call',
    load: async () => (await import('./commands/answer.ts')).answer,
  },
  {
    name: 'extend',
    summary: 'Move the deadline of a call that waits',
    load: async () => (await import('./commands/conversation.ts')).extend,
  },
  {
    name: 'note',
    summary: 'Append a note of your own to a conversation',
    load: async () => (await import('./commands/conversation.ts')).note,
  },
  {
    name: 'cancel',
    summary: 'End the open turn of a conversation',
    load: async () => (await import('./commands/answer.ts')).cancel,
  },
  {
    name: 'retry',
    summary: 'Send the messages of a turn again, in its place',
    load: async () => (await import('./commands/conversation.ts')).retry,
  },
  {
    name: 'rename',
    summary: 'Give a conversation a title',
    load: async () => (await import('./commands/answer.ts')).rename,
  },
  {
    name: 'fork',
    summary: 'Copy a conversation, up to any event',
    load: async () => (await import('./commands/answer.ts')).fork,
  },
  {
    name: 'explain',
    summary: 'Explain how each event appeared in the prompt of a model call',
    load: async () => (await import('./commands/show.ts')).explain,
  },
  {
    name: 'flows',
    summary: 'List sessions of flows, the newest first',
    load: async () => (await import('./commands/flows.ts')).flows,
  },
  {
    name: 'flows show',
    summary: 'Print the status and the record of a session',
    load: async () => (await import('./commands/flows.ts')).flowsShow,
  },
  {
    name: 'flows start',
    summary: 'Start a session of a flow',
    load: async () => (await import('./commands/flows.ts')).flowsStart,
  },
  {
    name: 'flows resume',
    summary: 'Answer a waiting session',
    load: async () => (await import('./commands/flows.ts')).flowsResume,
  },
  {
    name: 'mcp',
    summary: 'Serve agents to an MCP client over standard input and output',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  {
    name: 'export',
    summary: 'Write a whole store as JSON lines',
    load: async () => (await import('./commands/export.ts')).exportCommand,
  },
  {
    name: 'import',
    summary: 'Read an export into a store',
    load: async () => (await import('./commands/export.ts')).importCommand,
  },
  {
    name: 'doctor',
    summary: 'Check every row of a store against its log, and repair derived data',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'bulk',
    summary: 'Cancel, retry or unquarantine many conversations, and list such jobs',
    load: async () => (await import('./commands/bulk.ts')).bulk,
  },
  {
    name: 'preflight',
    summary: 'Compare what is open in a store with the code, before a deploy',
    load: async () => (await import('./commands/preflight.ts')).preflight,
  },
  {
    name: 'nodes',
    summary: 'List the processes that work on a store',
    load: async () => (await import('./commands/fleet.ts')).nodes,
  },
  {
    name: 'work',
    summary: 'List what is due, held or quarantined',
    load: async () => (await import('./commands/fleet.ts')).work,
  },
  {
    name: 'pause',
    summary: 'Stop work on an agent, a tenant or a conversation',
    load: async () => (await import('./commands/fleet.ts')).pause,
  },
  {
    name: 'resume',
    summary: 'End a pause',
    load: async () => (await import('./commands/fleet.ts')).resume,
  },
  {
    name: 'drain',
    summary: 'Have a node take no more work',
    load: async () => (await import('./commands/fleet.ts')).drain,
  },
  {
    name: 'undrain',
    summary: 'Let a node work again',
    load: async () => (await import('./commands/fleet.ts')).undrain,
  },
  {
    name: 'deliveries',
    summary: 'List what could not be delivered to subscribers, and have it tried again',
    load: async () => (await import('./commands/deliveries.ts')).deliveries,
  },
  {
    name: 'unquarantine',
    summary: 'Let processes work again on a conversation that ended them',
    load: async () => (await import('./commands/doctor.ts')).unquarantine,
  },
  {
    name: 'migrate',
    summary: 'Bring the schema of a store up to date',
    load: async () => (await import('./commands/doctor.ts')).migrate,
  },
  {
    name: 'gc',
    summary: 'Remove data that is no longer used',
    load: async () => (await import('./commands/doctor.ts')).gc,
  },
]

export async function loadCommand(entry: CommandEntry): Promise<Command> {
  return (await entry.load()) as Command
}
