/** How far long work is. `total` is null where it is not known beforehand. */
export type Progress = { readonly done: number; readonly total: number | null; readonly rows: number }

export type OnProgress = (progress: Progress) => void
