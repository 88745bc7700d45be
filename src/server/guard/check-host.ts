import { HostNotAllowedError } from '../../base/errors/server-errors.ts'

/** A name that somebody points at this machine must not make a browser talk to it: only known hosts are answered. */
export function checkHost(request: Request, allowed: readonly string[]): void {
  const host = normalised(hostOf(request))
  const isAllowed = allowed.some((name) => {
    const known = normalised(name)
    return known === host || (!hasPort(known) && known === withoutPort(host))
  })
  if (!isAllowed) throw new HostNotAllowedError()
}

export function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function normalised(host: string): string {
  return host.trim().toLowerCase()
}

function hasPort(host: string): boolean {
  return /:\d+$/.test(host) && withoutPort(host) !== host
}

/** Also of '[::1]:80'. */
function withoutPort(host: string): string {
  return host.replace(/^(\[[^\]]*\]|[^:]*):\d+$/, '$1')
}
