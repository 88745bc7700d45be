import { type RefObject, useEffect } from 'react'

let closedAt = Number.NEGATIVE_INFINITY

/** When the last dialog closed, by `performance.now()`. A person may still be typing into it. */
export function lastDialogClosedAt(): number {
  return closedAt
}

/**
 * Shows a dialog while it is mounted. The focus goes to the element with `data-autofocus`, or else to the first that takes it; afterwards it goes back to where it
 * was. Not a focus of React's: `showModal` runs after it, and moves the focus to the first button.
 */
export function useModal(dialog: RefObject<HTMLDialogElement | null>): void {
  useEffect(() => {
    const shown = dialog.current
    if (!shown) return
    const before = document.activeElement
    if (!shown.open) shown.showModal()
    shown.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    // Escape closes the dialog before React hears of it, and a letter may come in between.
    const closes = (): void => {
      closedAt = performance.now()
    }
    for (const type of ['cancel', 'close']) shown.addEventListener(type, closes)
    return () => {
      for (const type of ['cancel', 'close']) shown.removeEventListener(type, closes)
      // React's strict mode runs effects twice, with the dialog open all the time.
      if (shown.isConnected) return
      closedAt = performance.now()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [dialog])
}
