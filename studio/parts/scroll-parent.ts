import { type RefObject, useLayoutEffect, useState } from 'react'

export type Scrolled = {
  /** The nearest element around the list that scrolls. */
  readonly parent: Element
  /** How much of its content is above the list, in pixels. */
  readonly above: number
}

/** What a virtual list scrolls in, where its page is in one pane on a phone and in two on a desk. Null until it is shown. */
export function useScrollParent(list: RefObject<HTMLElement | null>): Scrolled | null {
  const [scrolled, setScrolled] = useState<Scrolled | null>(null)
  useLayoutEffect(() => {
    const find = (): void => {
      const shown = list.current
      const parent = shown && scrollParent(shown)
      if (!parent) return
      const above = Math.round(
        shown.getBoundingClientRect().top - parent.getBoundingClientRect().top + parent.scrollTop,
      )
      setScrolled((last) => (last?.parent === parent && last.above === above ? last : { parent, above }))
    }
    find()
    // What is above the list may grow, and a turned phone may have two panes.
    const sizes = new ResizeObserver(find)
    for (let around = list.current?.parentElement; around; around = around.parentElement) sizes.observe(around)
    for (const beside of list.current?.parentElement?.children ?? []) sizes.observe(beside)
    return () => sizes.disconnect()
  }, [list])
  return scrolled
}

function scrollParent(shown: Element): Element | null {
  for (let around = shown.parentElement; around; around = around.parentElement)
    if (/auto|scroll/.test(getComputedStyle(around).overflowY)) return around
  return null
}
