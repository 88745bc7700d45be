import type { ArgsDef } from 'citty'
import { targetArgs } from '../target/target-args.ts'

export const answerArgs = {
  conversation: {
    type: 'positional',
    required: true,
    description: 'Its id, or that of the conversation its agent was called from',
  },
  call: { type: 'string', valueHint: 'id', description: 'Which call, where several wait; the end of its id will do' },
  key: {
    type: 'string',
    valueHint: 'key',
    description: 'The same key is the same answer: repeated, it succeeds again instead of coming too late',
  },
  ...targetArgs,
} as const satisfies ArgsDef

export function keyOf({ key }: { readonly key?: string | undefined }): { readonly key?: string } {
  return key === undefined ? {} : { key }
}
