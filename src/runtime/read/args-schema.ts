import type { JsonObject } from '../../base/json.ts'
import { toolNamed } from '../../define/tool-source.ts'
import type { EngineNode } from '../../engine/node.ts'
import type { PendingCall } from '../../store/records.ts'

/** A page of the inbox has a schema with each approval: larger ones are left out of it. */
const mostCharacters = 16_384

const sizes = new WeakMap<JsonObject, number>()

/** What the arguments of an approval must fit, for a form to edit them in. Null where this process does not have the tool, or its schema is large. */
export function argsSchemaOf({ agent, name, kind }: PendingCall, agents: EngineNode['agents']): JsonObject | null {
  const tool = kind === 'approval' ? toolNamed(agents.get(agent ?? ''), name) : null
  if (!tool || !('inputJsonSchema' in tool)) return null
  const schema = tool.inputJsonSchema
  const size = sizes.get(schema) ?? JSON.stringify(schema).length
  sizes.set(schema, size)
  return size > mostCharacters ? null : schema
}
