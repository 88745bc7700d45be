import type { Json } from '../log/json.ts'

/** An audit row: exactly what one model call was given, and what came of it. */
export type ModelCall = {
  readonly turnRef: string
  readonly renderedContext: Json
  readonly model: Json
  readonly usage: Json
  readonly latencyMs: number | null
  readonly status: string
  readonly summaryVersion: number | null
  readonly evictions: Json
  readonly at: number
}

/** Missing fields are null (`status`: 'ok'); `at` is now by the store's clock. */
export type NewModelCall = Partial<ModelCall> & Pick<ModelCall, 'turnRef'>
