import { createContext, useContext } from 'react'

/** True where the pages show a file instead of a server: nothing can be sent, answered or changed. */
export const ReadOnly = createContext(false)

export function useReadOnly(): boolean {
  return useContext(ReadOnly)
}
