import type { ViewPart } from 'perdure/client'
import { JsonView } from '../parts/json.tsx'
import { Fold } from './fold.tsx'

type PartOf<Type extends ViewPart['type']> = Extract<ViewPart, { type: Type }>

/** A call that was never run: its message was sent back, cancelled or broke off. */
export function PlainCall({ part: { name, args } }: { part: PartOf<'plain_call'> }) {
  return (
    <Fold name={name} words="not run">
      <JsonView value={args} />
    </Fold>
  )
}

/** A call that the provider of the model runs by itself. */
export function ProviderCall({ part: { name, args } }: { part: PartOf<'provider_call'> }) {
  return (
    <Fold name={name} words="run by the provider">
      <JsonView value={args} />
    </Fold>
  )
}

export function ProviderResult({ part: { name, result, isError } }: { part: PartOf<'provider_result'> }) {
  return (
    <Fold name={name} words={isError ? 'error of the provider' : 'result of the provider'}>
      <JsonView value={result} />
    </Fold>
  )
}
