import { readMembers } from '../base/errors/read-given.ts'
import { checkId, checkWhole } from '../store/checks.ts'
import type { ForkOptions } from './conversation.ts'

type ReadForkOptions = { readonly at?: number; readonly id?: string; readonly name?: string }

/** Where to cut and whose the copy is, checked and read once; `name` is the agent's. */
export function readForkOptions(given: ForkOptions | undefined): ReadForkOptions {
  const { at, id, agent } = readMembers('options', given, ['at', 'id', 'agent'])
  if (at !== undefined) checkWhole('at', at, 0)
  if (id !== undefined) checkId('new conversation id', id)
  const named = typeof agent === 'object' ? readMembers('agent', agent, ['name']).name : agent
  if (agent !== undefined) checkId('agent', named)
  return {
    ...(at === undefined ? {} : { at }),
    ...(id === undefined ? {} : { id }),
    ...(named === undefined ? {} : { name: named }),
  }
}
