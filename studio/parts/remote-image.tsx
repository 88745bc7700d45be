import { ImageIcon } from 'lucide-react'
import { safeAddress } from './safe-link.tsx'
import { oneLine } from './shown-text.ts'

const embedded = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=]+$/

/** An image that a text names. One of another place is never loaded here: a click opens it in a tab of its own. */
export function RemoteImage({ address, words }: { address: string; words: string }) {
  if (address.length < 8_000_000 && embedded.test(address))
    return (
      <img src={address} alt={oneLine(words) || 'Image'} className="max-h-96 max-w-full rounded-(--radius) border" />
    )
  const safe = safeAddress(address)
  const name = oneLine(words, 80) || 'image'
  if (!safe) return <span className="text-faint">[{name}]</span>
  return (
    <a
      href={safe}
      target="_blank"
      rel="noopener noreferrer nofollow"
      title={`Not loaded. Opens ${oneLine(safe)}`}
      className="inline-flex max-w-full items-center gap-1 rounded-(--radius) border px-2 align-middle text-soft hover:text-text"
    >
      <ImageIcon className="size-3.5 shrink-0" aria-hidden />
      <span className="truncate">{name}</span>
      <span className="truncate text-faint">{new URL(safe).host}</span>
    </a>
  )
}
