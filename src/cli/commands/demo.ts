import { resolve } from 'node:path'
import { command } from '../command.ts'
import { countOf } from '../count-of.ts'
import { demoModels } from '../demo/demo-models.ts'
import { playStory } from '../demo/play-story.ts'
import { runDemo } from '../demo/run-demo.ts'
import { exitCodes } from '../exit-codes.ts'
import { findConfig } from '../load-config.ts'
import { userNameOf } from '../target/target-args.ts'

export const demo = command({
  about:
    'A support agent on a real SQLite file, with a server beside it. Kill it in mid-turn and start it again. Without a terminal it plays a story by itself.',
  args: {
    store: {
      type: 'string',
      valueHint: 'path',
      description: 'The SQLite file; default: .perdure/perdure.db, or demo.db in a project',
    },
    port: { type: 'string', description: 'Of the server; default: 4111, or a free one where that is taken' },
    offline: { type: 'boolean', description: 'The scripted model, also where there is a key for a real one' },
    fresh: { type: 'boolean', description: 'Forget the conversation of earlier runs first' },
  },
  examples: [
    ['demo', 'talk to it; kill it; start it again'],
    ['demo --fresh --offline', 'from the beginning, without a real model'],
    ['demo | cat', 'the story, for those who only want to read'],
  ],
  run: async ({ args, output, interrupted }) => {
    const port = countOf('port', args.port, 0, 65_535) ?? 4111
    const pace = Number(process.env['PERDURE_DEMO_PACE'] ?? 1)
    // A story that tells what happens next cannot leave that to a real model.
    const isOffline = args.offline === true || !output.isInteractive
    const models = await demoModels({ env: process.env, isOffline, pace })
    const storeFile = resolve(args.store ?? usualStore())
    const common = { storeFile, models, pace, user: userNameOf({}), signal: interrupted() }
    if (output.isInteractive) {
      await runDemo({ ...common, port, isFresh: args.fresh === true })
    } else await playStory({ ...common, output })
    return exitCodes.ok
  },
})

/** Where the other commands look by themselves; beside it in a project, whose own agents may have the same names. */
function usualStore(): string {
  return findConfig(process.cwd()) === null ? '.perdure/perdure.db' : '.perdure/demo.db'
}
