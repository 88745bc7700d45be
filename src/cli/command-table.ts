import type { Command } from './command.ts'

export type CommandEntry = {
  /** One word, or two for a command of a group. */
  readonly name: string
  readonly summary: string
  /** Not before it is run, so that help is quick. */
  load(): Promise<unknown>
}

/** Every command, in the order of `perdure --help`. */
export const commandTable: readonly CommandEntry[] = [
  {
    name: 'list',
    summary: 'List conversations, the newest first',
    load: async () => (await import('./commands/list.ts')).list,
  },
]

export async function loadCommand(entry: CommandEntry): Promise<Command> {
  return (await entry.load()) as Command
}
