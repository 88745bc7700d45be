/** Edited while the app runs. */
export const version = 0
