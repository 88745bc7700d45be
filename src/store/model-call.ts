import type { Json } from '../base/json.ts'
import type { PageBounds } from './store.ts'

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

/** Which rows of the audit. Default: all. */
export type ModelCallRange = PageBounds & {
  /** Only those of this call. */
  readonly turnRef?: string
  /** Only those of this call and of the calls after it. */
  readonly from?: string
  /** How many of the first are left out: with `from`, a page goes on where the one before ended. */
  readonly skip?: number
  /** False: `renderedContext`, which may be long, is not read, and null. Default: true. */
  readonly contexts?: boolean
}
