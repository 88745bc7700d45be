/** Something a story waits for, or makes others wait for. */
export type Gate<T = void> = { readonly opened: Promise<T>; open(value: T): void }

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
