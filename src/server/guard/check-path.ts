import { InvalidRequestError } from '../../base/errors/server-errors.ts'

/** Refuses what does not stand for text: two ids would look the same, or one would be another than was meant. */
export function checkPath(request: Request): void {
  const { pathname, search } = new URL(request.url)
  if (!isText(pathname)) throw new InvalidRequestError('path', 'it has bytes that are not UTF-8')
  if (!isText(search)) throw new InvalidRequestError('query', 'it has bytes that are not UTF-8')
}

function isText(encoded: string): boolean {
  try {
    decodeURIComponent(encoded)
    return true
  } catch {
    return false
  }
}
