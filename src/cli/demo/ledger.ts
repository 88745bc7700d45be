import { appendFileSync, existsSync, readFileSync } from 'node:fs'

/** One refund that was paid. */
export type LedgerLine = {
  readonly callId: string
  readonly orderId: string
  readonly cents: number
  readonly at: string
}

/** What the payment provider of the demo would have. Nothing here looks for doubles: that a refund is paid once is for Perdure to show. */
export function pay(file: string, payment: Omit<LedgerLine, 'at'>): void {
  appendFileSync(file, `${JSON.stringify({ ...payment, at: new Date().toISOString() })}\n`)
}

export function readLedger(file: string): LedgerLine[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((text) => JSON.parse(text) as LedgerLine)
}
