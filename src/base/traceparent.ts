import { InvalidArgumentError } from './errors/store-errors.ts'

/** A W3C trace context, as in the header `traceparent`. */
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Whether it names a span. Anything else must be treated as absent, as the specification of W3C demands. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && value.length === 55 && form.test(value)
}

/** Throws `InvalidArgumentError` for what does not name a span. */
export function checkTraceparent(value: unknown): void {
  if (value === undefined || isTraceparent(value)) return
  throw new InvalidArgumentError('traceparent', "must be a W3C traceparent, as in '00-<32 hex>-<16 hex>-01'")
}
