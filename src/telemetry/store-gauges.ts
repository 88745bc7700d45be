import type { Meter } from '@opentelemetry/api'
import type { Store } from '../store/store.ts'
import { gaugesOf } from '../upkeep/metrics.ts'
import { gauges } from './names.ts'

/** A store that offers figures, as those of Perdure do. */
export type GaugedStore = Pick<Store, 'upkeep'>

/** Measures a whole store when metrics are collected. A store that fails then is not measured. */
export function storeGauges(meter: Meter, store: GaugedStore): void {
  const keys = Object.keys(gauges) as (keyof typeof gauges)[]
  const made = Object.values(gauges).map(({ name, unit, description }) =>
    meter.createObservableGauge(name, { unit, description }),
  )
  meter.addBatchObservableCallback(async (result) => {
    const figures = await store.upkeep?.figures?.(1)
    if (!figures) return
    const values = gaugesOf(figures)
    for (const [index, key] of keys.entries()) result.observe(made[index]!, values[key])
  }, made)
}
