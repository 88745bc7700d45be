import { CopyButton } from './copy-button.tsx'
import { LongText } from './long-text.tsx'
import { Scroller } from './scroller.tsx'
import { oneLine } from './shown-text.ts'

/** Code as it was written, with its language and a way to copy it. */
export function CodeBlock({ text, language }: { text: string; language?: string | undefined }) {
  return (
    <div className="group/code relative rounded-(--radius) border bg-page">
      <Scroller dir="ltr" label={language ? `Code in ${oneLine(language, 40)}` : 'Code'} className="px-3 py-2">
        <LongText text={text} />
      </Scroller>
      <CopyButton
        text={text}
        className="absolute top-1 right-1 bg-page opacity-0 focus-visible:opacity-100 group-hover/code:opacity-100"
      />
    </div>
  )
}
