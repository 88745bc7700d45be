/** A fetch whose answers break off after as many bytes as `cutAfter` says; null lets one through. */
export function cuttingFetch(cutAfter: () => number | null): typeof fetch {
  return async (input, init) => {
    const most = cutAfter()
    if (most === null) return fetch(input, init)
    const controller = new AbortController()
    const signal = init?.signal ? AbortSignal.any([init.signal, controller.signal]) : controller.signal
    const response = await fetch(input, { ...init, signal })
    if (!response.ok || !response.body) return response
    let left = most
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, out) {
        out.enqueue(chunk.subarray(0, Math.max(0, left)))
        left -= chunk.byteLength
        if (left > 0) return
        controller.abort()
        out.error(new Error('cut'))
      },
    })
    return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers })
  }
}
