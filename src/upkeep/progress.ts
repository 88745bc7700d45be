/** How far long work is. `total` is null where it is not known beforehand. */
export type Progress = { readonly done: number; readonly total: number | null; readonly rows: number }

/** Called often; must return fast. */
export type OnProgress = (progress: Progress) => void
