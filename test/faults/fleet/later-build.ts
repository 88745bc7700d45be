/**
 * Makes the process that preloads it a node of a later version: it knows, and lets anyone write, an event type that this version does not have.
 * `node --import ./later-build.ts node.ts`. Throws when a source that it changes reads otherwise than it expects.
 */
import { registerHooks } from 'node:module'

type Edit = readonly [file: string, before: string, after: string]

const edits: readonly Edit[] = [
  ['/src/log/validate-event.ts', '  titled: object<', '  fleet_mark: object({ callId: id }),\n  titled: object<'],
  ['/src/log/event-roles.ts', "  'titled',\n", "  'titled',\n  'fleet_mark' as EventType,\n"],
  [
    '/src/log/fold-events.ts',
    "      case 'titled':\n",
    "      case 'fleet_mark' as never:\n        return\n      case 'titled':\n",
  ],
]

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const edit = edits.find(([file]) => url.endsWith(file))
    if (!edit) return loaded
    const [file, before, after] = edit
    const source = String(loaded.source)
    if (source.split(before).length !== 2)
      throw new Error(`${file} does not have what the later build changes: ${before}`)
    return { ...loaded, source: source.replace(before, after) }
  },
})
