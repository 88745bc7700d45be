import type { Json } from '../../base/json.ts'
import type { ModelRef } from '../../log/events.ts'
import { wellFormed } from './well-formed.ts'

/** A model may have asked for a tool by a name that no provider takes back. */
export function toolName(name: string, { provider }: ModelRef): string {
  const plain = usable.test(name) ? name : name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown'
  // Google wants a letter or an underscore first.
  const isRefused = provider.startsWith('google') && !/^[a-zA-Z_]/.test(plain)
  return isRefused ? `_${plain}`.slice(0, 64) : plain
}

const usable = /^[a-zA-Z0-9_-]{1,64}$/

/** Providers want an object; a model may have sent something else. */
export function toolInput(args: Json): Json {
  const plain = wellFormed(args)
  return typeof plain === 'object' && plain !== null && !Array.isArray(plain) ? plain : { input: plain }
}
