import { FileUp } from 'lucide-react'
import { type DragEvent, useEffect, useRef, useState } from 'react'
import { servedExport } from '../addresses.ts'
import { Button } from '../parts/button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { byteSize, oneLine } from '../parts/shown-text.ts'
import type { OpenFile } from './open-page.tsx'
import { NotAnExport, readExport } from './read-export.ts'

type State = { readonly reading: string; readonly bytes: number } | { readonly problem: string } | null

/** Takes a file from a person, or the one that `perdure studio file.jsonl` serves beside the page. */
export function Drop({ onOpen }: { onOpen(file: OpenFile): void }) {
  const [state, setState] = useState<State>(null)
  const [isOver, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const open = async (name: string, stream: ReadableStream<Uint8Array>): Promise<void> => {
    setState({ reading: name, bytes: 0 })
    try {
      const content = await readExport(stream, (bytes) => setState({ reading: name, bytes }))
      if (content.tenants.some(({ conversations }) => conversations.size > 0)) return onOpen({ name, content })
      const why = content.problem ?? 'It has no conversation.'
      setState({ problem: `${oneLine(name, 80)}: ${why}` })
    } catch (error) {
      setState({ problem: error instanceof NotAnExport ? `${oneLine(name, 80)}: ${error.message}` : errorWords(error) })
    }
  }
  const opening = useRef(open)
  useEffect(() => {
    opening.current = open
  })
  useEffect(() => {
    void servedFile().then((served) => served && opening.current(served.name, served.stream))
  }, [])
  const dropped = (event: DragEvent): void => {
    event.preventDefault()
    setOver(false)
    const [file] = event.dataTransfer.files
    if (file) void open(file.name, file.stream())
  }
  return (
    <main
      className={`grid h-dvh place-items-center p-4 ${isOver ? 'bg-selected' : 'bg-page'}`}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={dropped}
    >
      <div className="flex w-full max-w-130 flex-col items-center gap-3 rounded-(--radius) border border-dashed bg-panel px-6 py-12 text-center">
        <FileUp className="size-6 text-faint" aria-hidden />
        <h1 className="text-base font-medium">Open an export</h1>
        {state && 'reading' in state ? (
          <p role="status" className="text-soft">
            Reading {oneLine(state.reading, 60)}: {byteSize(state.bytes)}
          </p>
        ) : (
          <>
            <p className="text-soft">
              Drop a file that <code>perdure export</code> has written. It is read in this browser alone; nothing is
              sent.
            </p>
            {state && (
              <p role="alert" className="text-failed">
                {state.problem}
              </p>
            )}
            <Button kind="main" onClick={() => input.current?.click()}>
              Choose a file
            </Button>
          </>
        )}
        <input
          ref={input}
          type="file"
          aria-label="Export file"
          className="sr-only"
          tabIndex={-1}
          onChange={(event) => {
            const [file] = event.currentTarget.files ?? []
            event.currentTarget.value = ''
            if (file) void open(file.name, file.stream())
          }}
        />
      </div>
    </main>
  )
}

const keptName = 'perdure.open'

/**
 * The file that `perdure studio file.jsonl` serves beside the page; null where there is none. That it was opened is kept for this tab, so that a reload on another
 * address opens it again.
 */
async function servedFile(): Promise<{ readonly name: string; readonly stream: ReadableStream<Uint8Array> } | null> {
  const { from, url } = servedExport
  const asked = new URLSearchParams(location.search).get('from') ?? sessionStorage.getItem(keptName)
  if (asked !== from) return null
  const response = await fetch(url).catch(() => null)
  if (!response?.ok || !response.body) {
    sessionStorage.removeItem(keptName)
    return null
  }
  sessionStorage.setItem(keptName, from)
  return { name: from, stream: response.body }
}
