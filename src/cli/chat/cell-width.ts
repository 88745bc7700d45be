const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** What a person takes for one character each, with the cells it takes on a terminal. */
export function cells(text: string): { readonly text: string; readonly width: number }[] {
  return isAscii(text)
    ? [...text].map((character) => ({ text: character, width: 1 }))
    : Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, width: widthOf(segment) }))
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

function widthOf(grapheme: string): number {
  if (/^[\p{Mark}\p{Cf}]+$/u.test(grapheme)) return 0
  return wide.test(grapheme) ? 2 : 1
}

const wide =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u
