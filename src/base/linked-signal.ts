export type LinkedSignal = {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Must be called in the end: parents live longer, and would keep what listens to them. */
  unlink(): void
}

/** A signal that is aborted with its parent, or on its own. */
export function linkSignal(parent: AbortSignal): LinkedSignal {
  const controller = new AbortController()
  const follow = (): void => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => parent.removeEventListener('abort', follow),
  }
}
