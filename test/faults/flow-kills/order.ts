/** The n-th time that place is passed. */
export type KillPoint = { readonly failpoint: string; readonly passing: number }

export type ChildOrder = { readonly session: string; readonly kill: KillPoint | null }

export type ChildMessage =
  | { readonly type: 'ready' }
  | { readonly type: 'ran'; readonly step: string; readonly id: string }
  | { readonly type: 'done'; readonly passings: Readonly<Record<string, number>>; readonly result: unknown }

/** The copy that a session leaves behind. */
export function forkOf(session: string): string {
  return `${session}-fork`
}

/** A dead process holds its sessions for as long. */
export const leaseMs = 250
