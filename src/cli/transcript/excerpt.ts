import type { Json } from '../../base/json.ts'

const most = 400

/** JSON on one line; of long values only the beginning, unless all of it is wanted. */
export function excerpt(value: Json, isFull: boolean): string {
  const text = JSON.stringify(value) ?? 'null'
  return isFull || text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}
