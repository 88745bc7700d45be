import { useEffect } from 'react'
import { flushSync } from 'react-dom'

/** A key of a page and what it does, for the page and for the help that `?` shows. */
export type Key = { readonly key: string; readonly does: string; readonly run: () => void }

/** What surrounds every page, and the parts of the page. */
const around = new Set<readonly Key[]>()
const shown = new Set<readonly Key[]>()

/** The keys of what is on screen now. */
export function currentKeys(): Key[] {
  return [...around, ...shown].flat()
}

/**
 * Keys of a part of the page while it is shown. They are silent while a person types, holds a modifier, or a dialog is open. Where two parts have the same key,
 * the one that was shown last has it; a page has its keys before what surrounds it (`isAround`).
 */
export function useKeys(keys: readonly Key[], { isAround = false } = {}): void {
  useEffect(() => {
    const group = isAround ? around : shown
    group.add(keys)
    // A listener that is there already is not added again.
    window.addEventListener('keydown', listen)
    return () => {
      group.delete(keys)
      if (around.size + shown.size === 0) window.removeEventListener('keydown', listen)
    }
  }, [keys, isAround])
}

function listen(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  if (document.querySelector('dialog[open]') || isPressing(event)) return
  const found = currentKeys().findLast(({ key }) => key.toLowerCase() === event.key.toLowerCase())
  if (!found) return
  event.preventDefault()
  // Rendered before the next key arrives: Enter right after J opens the row that J has chosen.
  flushSync(found.run)
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Enter on a button or a link presses it, and is no key of the page; in a list marked `data-page-enter` the page has it. */
function isPressing({ key, target }: KeyboardEvent): boolean {
  if (key !== 'Enter' || !(target instanceof Element)) return false
  return target.closest('a, button, summary, [role=button]') !== null && !target.closest('[data-page-enter]')
}
