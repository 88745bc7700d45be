import { readOptions } from '../base/errors/read-options.ts'
import { InvalidArgumentError } from '../base/errors/store-errors.ts'
import { decode, encode } from '../log/codec.ts'
import { checkId } from './checks.ts'

/** Who steers a fleet, and why. `reason`: at most 1,000 characters. */
export type SteeredBy = { readonly who: string; readonly reason?: string }

/** What is steered, as a driver stores it. `name` is empty for a tenant, and `tenant` for an agent and a node. */
export type StoredTarget = {
  readonly kind: 'agent' | 'tenant' | 'conversation' | 'node'
  readonly tenant: string
  readonly name: string
}

export function nodeTarget(holder: string): StoredTarget {
  return { kind: 'node', tenant: '', name: holder }
}

const maxReasonLength = 1_000

/** Checks who steers. The reason is encoded, because it is free text. */
export function readBy(input: SteeredBy): SteeredBy {
  const { who, reason } = readOptions('by', input, ['who', 'reason'])
  checkId('who', who)
  return { who, ...encodedReason(reason) }
}

/** A reason as drivers get it; absent if there is none. */
export function encodedReason(reason: unknown): { readonly reason?: string } {
  if (reason === undefined || reason === null) return {}
  if (typeof reason !== 'string' || reason.length > maxReasonLength)
    throw new InvalidArgumentError('reason', `must be a string of at most ${maxReasonLength} characters`)
  return { reason: encode(reason.toWellFormed(), 'reason') }
}

/** The opposite, for a row of a driver. */
export function withReason<Row extends { readonly reason: string | null }>(row: Row): Row {
  return row.reason === null ? row : { ...row, reason: String(decode(row.reason)) }
}
