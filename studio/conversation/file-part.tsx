import { File, ImageIcon } from 'lucide-react'
import type { ViewPart } from 'perdure/client'
import { useEffect, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { loadFile } from '../parts/load-file.ts'
import { RemoteImage } from '../parts/remote-image.tsx'
import { save } from '../parts/save.ts'
import { byteSize, oneLine } from '../parts/shown-text.ts'
import { useTranscript } from './transcript-context.ts'

type Part = Extract<ViewPart, { type: 'file' }>

/** A file in a message. Files of the store are loaded when asked for; files of other places never are. */
export function FilePart({ part: { mediaType, data, filename } }: { part: Part }) {
  const name = oneLine(filename ?? mediaType, 120)
  if (typeof data === 'string') {
    if (/^image\//.test(mediaType)) return <RemoteImage address={data} words={name} />
    return (
      <p className="text-soft">
        File: {name}, {data.startsWith('data:') ? byteSize(data.length) : oneLine(data)}
      </p>
    )
  }
  return <StoredFile name={name} mediaType={mediaType} blob={data.blob} size={data.size} />
}

const shownImages = /^image\/(?:png|jpeg|gif|webp|avif)$/

type StoredFileProps = {
  readonly name: string
  readonly mediaType: string
  readonly blob: string
  readonly size: number
}

function StoredFile({ name, mediaType, blob, size }: StoredFileProps) {
  const { conversationId, isLive } = useTranscript()
  const [state, setState] = useState<{ url: string | null; error: unknown; isLoading: boolean }>(nothing)
  const isImage = shownImages.test(mediaType)
  useEffect(() => () => void (state.url && URL.revokeObjectURL(state.url)), [state.url])
  const load = (): void => {
    setState({ ...nothing, isLoading: true })
    loadFile(conversationId, blob).then(
      (bytes) => {
        const url = URL.createObjectURL(new Blob([bytes], { type: isImage ? mediaType : 'application/octet-stream' }))
        if (isImage) setState({ ...nothing, url })
        else {
          save(url, filenameOf(name))
          setState(nothing)
        }
      },
      (error: unknown) => setState({ ...nothing, error }),
    )
  }
  if (state.url !== null)
    return <img src={state.url} alt={name} className="max-h-96 max-w-full self-start rounded-(--radius) border" />
  const Icon = isImage ? ImageIcon : File
  return (
    <div className="flex items-center gap-2 self-start rounded-(--radius) border px-2">
      <Icon className="size-3.5 shrink-0 text-faint" aria-hidden />
      <span className="min-w-0 truncate">{name}</span>
      <span className="whitespace-nowrap text-faint">{byteSize(size)}</span>
      {isLive && (
        <Button kind="quiet" disabled={state.isLoading} onClick={load}>
          {state.isLoading ? 'Loading…' : isImage ? 'Show' : 'Download'}
        </Button>
      )}
      {state.error !== null && (
        <span role="alert" className="text-failed">
          {errorWords(state.error)}
        </span>
      )}
    </div>
  )
}

const nothing = { url: null, error: null, isLoading: false }

function filenameOf(name: string): string {
  return name.replaceAll(/[^\w.-]+/g, '-').slice(0, 80) || 'file'
}
