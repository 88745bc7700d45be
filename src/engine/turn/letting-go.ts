/** How an owner lets go of its conversation: `park` when there is nothing to do, `hand_over` when another process is to go on. */
export type LettingGo = 'park' | 'hand_over'

export const lettingGo = {
  park: { wakeAt: null, lease: 'release' },
  hand_over: { wakeAt: 'now', lease: 'release' },
} as const
