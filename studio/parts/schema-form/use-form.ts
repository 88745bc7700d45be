import type { Json } from 'perdure/client'
import { useCallback, useMemo, useState } from 'react'
import type { Field } from './fields.ts'
import { isSame, jsonText, type Path, type Problem, parseJson, problemsIn, withValueAt } from './values.ts'

/** What is typed at a place where the text is not the value: numbers and JSON. */
type Typed = { readonly text: string; readonly problem: string | null }

export type Form = {
  readonly field: Field
  readonly value: Json | undefined
  /** What the form began with. */
  readonly before: Json | undefined
  readonly isChanged: boolean
  /** The whole as JSON text, while it is edited as such. */
  readonly raw: Typed | null
  readonly problems: readonly Problem[]
  typedAt(path: Path): Typed | undefined
  set(path: Path, value: Json | undefined, typed?: Typed): void
  /** What is typed does not say a value: the value stays as it was, and the form does not fit. */
  setTyped(path: Path, typed: Typed): void
  setRaw(text: string | null): void
  reset(): void
}

type State = {
  readonly value: Json | undefined
  readonly typed: ReadonlyMap<string, Typed>
  readonly raw: Typed | null
}

const key = (path: Path): string => JSON.stringify(path)

/** The state of a form. It is thrown away with the component: give that a `key` of what is asked. */
export function useForm(field: Field, before: Json | undefined): Form {
  const [start] = useState(before)
  const [state, setState] = useState<State>({ value: start, typed: new Map(), raw: null })
  const set = useCallback((path: Path, value: Json | undefined, typed?: Typed) => {
    setState((was) => {
      const kept = new Map(typed ? was.typed : forgotten(was.typed, path))
      if (typed) kept.set(key(path), typed)
      return { ...was, value: withValueAt(was.value, path, value), typed: kept }
    })
  }, [])
  const setTyped = useCallback((path: Path, typed: Typed) => {
    setState((was) => ({ ...was, typed: new Map(was.typed).set(key(path), typed) }))
  }, [])
  const setRaw = useCallback((text: string | null) => {
    setState((was) => {
      if (text === null) return was.raw?.problem ? was : { ...was, raw: null }
      const parsed = parseJson(text)
      if (!parsed.ok) return { ...was, raw: { text, problem: parsed.problem } }
      // An untouched value stays the object that it was.
      const value = isSame(parsed.value, was.value) ? was.value : parsed.value
      return { value, typed: new Map(), raw: { text, problem: null } }
    })
  }, [])
  const reset = useCallback(() => setState({ value: start, typed: new Map(), raw: null }), [start])
  return useMemo(() => {
    const { value, typed, raw } = state
    const unread = [...typed].flatMap(([place, { problem }]) =>
      problem === null ? [] : [{ path: JSON.parse(place) as Path, text: problem }],
    )
    const problems = raw?.problem
      ? [{ path: [], text: raw.problem }]
      : [...unread, ...problemsIn(field, value).filter(({ path }) => !typed.get(key(path))?.problem)]
    const isChanged = !isSame(value, start) || unread.length > 0 || Boolean(raw?.problem)
    const typedAt = (path: Path): Typed | undefined => typed.get(key(path))
    return { field, value, before: start, isChanged, raw, problems, typedAt, set, setTyped, setRaw, reset }
  }, [state, field, start, set, setTyped, setRaw, reset])
}

/** What was typed at a place and below it. Indexes of a list move when an item goes. */
function forgotten(typed: ReadonlyMap<string, Typed>, path: Path): [string, Typed][] {
  const above = typeof path.at(-1) === 'number' ? path.slice(0, -1) : path
  const prefix = key(above).slice(0, -1)
  return [...typed].filter(([place]) => !place.startsWith(prefix))
}

/** The text of the whole value, for editing it as JSON. */
export function rawText({ raw, value }: Form): string {
  return raw?.text ?? jsonText(value)
}
