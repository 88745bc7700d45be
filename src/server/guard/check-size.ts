import { RequestTooLargeError } from '../../base/errors/server-errors.ts'
import type { Limits } from '../server-options.ts'

/** Before anything of the request is looked at closely. */
export function checkSize(request: Request, { urlBytes, headerBytes }: Limits): void {
  if (request.url.length > urlBytes) throw new RequestTooLargeError('URL', urlBytes)
  let bytes = 0
  for (const [name, value] of request.headers) bytes += name.length + value.length + 4
  if (bytes > headerBytes) throw new RequestTooLargeError('header', headerBytes)
}
