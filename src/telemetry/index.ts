export { type PrometheusCounts, prometheus } from './prometheus.ts'
export type { GaugedStore } from './store-gauges.ts'
export { type Telemetry, type TelemetryOptions, telemetry } from './telemetry.ts'
